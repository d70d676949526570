"""WebRTC's detector is used as the model is, and closes as it does."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tests.turn.recordings import recordings
from turn.events import VoiceScored
from turn.vad import SILENCE_DB, Voices, score
from turn.vad_webrtc import WebrtcVoice


def voiced(scored: list[VoiceScored]) -> list[VoiceScored]:
    return [each for each in scored if each.probability > 0.5]


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
def test_it_is_used_as_the_model_is(rate: int) -> None:
    voices: Voices = WebrtcVoice()
    recording = recordings(rate, "complete")[0]
    scored = score(voices, recording.samples, rate)
    assert [each.start for each in scored] == [n * rate // 50 for n in range(len(scored))]
    assert all(each.end - each.start == rate // 50 for each in scored)
    speech = [each for each in scored if recording.start < each.start < recording.end]
    assert len(voiced(speech)) > 0.8 * len(speech)
    assert not voiced(scored[-20:])  # the recording ends in digital silence


def test_a_closed_stream_hears_nothing_more() -> None:
    """Closed by what it hears itself, or by what another hears before it in the same go."""
    heard: dict[str, list[VoiceScored]] = {"first": [], "second": []}
    voices = WebrtcVoice()

    def act(window: VoiceScored) -> None:
        heard["first"].append(window)
        first.close()
        second.close()

    first = voices.open(8000, act)
    second = voices.open(8000, heard["second"].append)
    for each in (first, second):
        each.feed(np.zeros(800, np.int16))
    voices.score_pending()
    assert len(heard["first"]) == 1
    assert heard["second"] == []


async def test_results_come_at_the_moment_the_sound_does() -> None:
    heard: list[VoiceScored] = []

    loop = asyncio.get_running_loop()
    voices = WebrtcVoice()
    voices.attend()
    begun = loop.time()
    stream = voices.open(8000, heard.append, start=80)
    stream.feed(np.zeros(330, np.int16))
    assert heard == []  # not while it is fed
    for _ in range(3):
        await asyncio.sleep(0)
    assert [(each.start, each.end) for each in heard] == [(80, 240), (240, 400)]
    assert loop.time() == begun
    assert {each.level for each in heard} == {SILENCE_DB}
    stream.close()
    stream.feed(np.zeros(160, np.int16))
    voices.score_pending()
    await asyncio.sleep(0.1)
    assert len(heard) == 2
