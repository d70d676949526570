"""The embedded models as plain functions, for hearing recordings instead of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gateway.backends.cascade.recognisers.moonshine import Moonshine
from inference.runtime import Runtime
from media.frame import Samples
from turn.offline import Ears
from turn.semantic import TurnAssessor
from turn.vad import VoiceActivity, Voices, score
from turn.vad_webrtc import WebrtcVoice


def ears(runtime: Runtime, vad: Literal["silero", "webrtc"], hints: Sequence[str] = ()) -> Ears:
    """Load the models that hear a live call; `hints` are words that are likely."""
    voices: Voices = WebrtcVoice() if vad == "webrtc" else VoiceActivity(runtime)
    assessor = TurnAssessor(runtime)
    recogniser = Moonshine(runtime)
    recogniser.load()

    def semantic(samples: Samples, rate: int) -> float | None:
        stream = assessor.open(rate)
        stream.feed(samples)
        answer = stream.assess_now(0, len(samples))
        stream.close()
        return answer.probability

    def words(samples: Samples, rate: int) -> str:
        return recogniser.write(samples, rate, tuple(hints), careful=False)

    return Ears(lambda samples, rate: score(voices, samples, rate), semantic, words)
