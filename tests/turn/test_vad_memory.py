"""A caller who listens for long is heard as well as one who has just spoken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

from inference.runtime import Runtime
from media.frame import Samples
from turn.vad import VoiceActivity, score

SPEECH = Path(__file__).parents[1] / "data/speech/demo"
RATE = 8000


def said(name: str) -> Samples:
    samples, rate = soundfile.read(SPEECH / f"tel_ar40_caller_{name}.flac", dtype="int16")
    assert rate == RATE
    return np.asarray(samples, np.int16)


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE), np.int16)


def test_a_short_word_is_heard_after_long_listening() -> None:
    runtime = Runtime()
    try:
        before = np.concatenate(
            [said("light"), silence(9), said("tesla"), silence(9), said("noises"), silence(15)]
        )
        sound = np.concatenate([before, said("yeah"), silence(0.5)])
        scored = score(VoiceActivity(runtime), sound, RATE)
    finally:
        runtime.close()
    word = [each.probability for each in scored if each.start >= len(before)]
    assert max(word) > 0.9
    assert sum(probability > 0.5 for probability in word) >= 6
