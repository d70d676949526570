"""Windows of all calls are judged together, and each call hears of its own, in its own time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.runtime import Runtime
from media.frame import Samples
from media.resample import convert
from tests.support import virtual_time
from tests.turn.recordings import recordings, telephone
from turn.events import VoiceScored
from turn.vad import PENDING_WINDOWS, SILENCE_DB, VoiceActivity, Voices, levels, score
from turn.vad_webrtc import WebrtcVoice


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    made = Runtime()
    yield made
    made.close()


@pytest.fixture
def voices(runtime: Runtime) -> VoiceActivity:
    return VoiceActivity(runtime)


def at_rate(samples: Samples, rate: int) -> Samples:
    return np.frombuffer(convert(samples.tobytes(), 8000, rate), "<i2")


def voiced(scored: list[VoiceScored]) -> list[VoiceScored]:
    return [each for each in scored if each.probability > 0.5]


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_speech_is_found_where_it_is(voices: VoiceActivity, rate: int) -> None:
    for each in recordings(rate, "complete", "short_turn"):
        found = voiced(score(voices, each.samples, rate))
        assert found[0].start == pytest.approx(each.start, abs=0.2 * rate), each.file
        assert found[-1].end == pytest.approx(each.end, abs=0.25 * rate), each.file


@pytest.mark.parametrize(
    ("rate", "window"), [(8000, 256), (16000, 512), (48000, 1536), (24000, 768)]
)
def test_windows_follow_each_other_in_the_streams_own_positions(
    voices: VoiceActivity, rate: int, window: int
) -> None:
    scored = score(voices, np.zeros(rate, np.int16), rate)
    assert len(scored) in (30, 31)  # a resampler holds a little back
    assert [each.start for each in scored] == [n * window for n in range(len(scored))]
    assert all(each.end - each.start == window for each in scored)
    # A resampler's dither is the least that 16 bits can hold.
    assert all(each.level < -85 and each.probability < 0.2 for each in scored)


def test_calls_that_are_judged_together_are_judged_as_if_alone(voices: VoiceActivity) -> None:
    first, second = (each.samples for each in telephone("complete")[:2])
    alone = [score(voices, first, 8000), score(voices, at_rate(second, 16000), 16000)]
    alone.append(score(voices, second, 8000))
    streams = [voices.open(8000), voices.open(16000), voices.open(8000, start=5000)]
    sounds = [first, at_rate(second, 16000), second]
    together: list[list[VoiceScored]] = [[], [], []]
    for tick in range(200):
        for stream, sound, step in zip(streams, sounds, (160, 800, 480), strict=True):
            stream.feed(sound[tick * step : (tick + 1) * step])
        voices.score_pending()
        for scored, stream in zip(together, streams, strict=True):
            scored += stream.take()
    for one, other, start in zip(alone, together, (0, 0, 5000), strict=True):
        assert len(other) > 60
        for expected, found in zip(one, other, strict=False):
            assert found.start == expected.start + start
            assert found.probability == pytest.approx(expected.probability, abs=1e-4)
            assert found.level == pytest.approx(expected.level, abs=1e-4)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=20))
def test_it_does_not_matter_how_sound_is_cut(pieces: list[int]) -> None:
    voices = VoiceActivity(Runtime())
    sound = telephone("complete")[0].samples[8000 : 8000 + sum(pieces)]
    whole = voices.open(8000)
    for begin in range(0, len(sound), 8000):
        whole.feed(sound[begin : begin + 8000])
        voices.score_pending()
    cut = voices.open(8000)
    for end, piece in zip(np.cumsum(pieces), pieces, strict=True):
        cut.feed(sound[end - piece : end])
        voices.score_pending()
    expected, found = whole.take(), cut.take()
    assert [each.start for each in found] == [each.start for each in expected]
    assert [each.probability for each in found] == pytest.approx(
        [each.probability for each in expected], abs=1e-4
    )


def test_a_closed_stream_hears_nothing_more(voices: VoiceActivity) -> None:
    heard: list[VoiceScored] = []
    stream = voices.open(8000, heard.extend)
    stream.feed(np.zeros(600, np.int16))
    voices.score_pending()
    assert len(heard) == 2
    assert stream.take() == []
    stream.feed(np.zeros(600, np.int16))
    stream.close()
    voices.score_pending()
    assert len(heard) == 2


def test_a_long_silence_may_come_at_once(voices: VoiceActivity) -> None:
    stream = voices.open(8000)
    stream.feed(np.ones(100, np.int16))
    stream.feed(np.zeros(80000, np.int16))
    voices.score_pending()
    scored = stream.take()
    assert [each.start for each in scored] == [n * 256 for n in range(80100 // 256)]
    assert scored[0].level > SILENCE_DB == scored[-1].level
    assert stream.given_up == 0


def test_if_nobody_ticks_the_oldest_windows_are_given_up(voices: VoiceActivity) -> None:
    stream = voices.open(8000)
    for _ in range(20):
        stream.feed(np.zeros(8000, np.int16))
    voices.score_pending()
    scored = stream.take()
    assert stream.given_up > 0
    assert len(scored) + stream.given_up == 160000 // 256
    assert len(scored) <= PENDING_WINDOWS
    assert scored[0].start == stream.given_up * 256
    assert scored[-1].end == 160000 // 256 * 256


def test_results_come_while_the_sound_comes(runtime: Runtime, voices: VoiceActivity) -> None:
    """In virtual time, frames every 20 ms: each window is heard of within a tick."""
    recording = telephone("complete")[0]
    heard: list[tuple[float, VoiceScored]] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        stream = voices.open(
            8000, lambda found: heard.extend((loop.time() - begun, each) for each in found)
        )
        async with asyncio.TaskGroup() as group:
            ticking = group.create_task(voices.watch())
            for number in range(100):
                await asyncio.sleep(begun + number * 0.02 - loop.time())
                stream.feed(recording.samples[number * 160 : (number + 1) * 160])
            await asyncio.sleep(0.05)
            ticking.cancel()
        stream.close()

    virtual_time.run(story(), [lambda: runtime.frames.busy])
    assert len(heard) == 62
    arrived = [when - (each.end / 8000) for when, each in heard]
    assert max(arrived) <= 0.016 + 0.001


def test_levels_are_in_decibels_below_a_full_square_wave() -> None:
    square = np.ones(256, np.float32)
    sine = np.sin(2 * np.pi * np.arange(256) / 32).astype(np.float32)
    found = levels(np.stack([square, sine, np.zeros(256, np.float32), square / 10]))
    assert found == pytest.approx([0.0, -3.01, SILENCE_DB, -20.0], abs=0.01)


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
def test_webrtcs_detector_is_used_the_same_way(rate: int) -> None:
    voices: Voices = WebrtcVoice()
    recording = recordings(rate, "complete")[0]
    scored = score(voices, recording.samples, rate)
    assert [each.start for each in scored] == [n * rate // 50 for n in range(len(scored))]
    assert all(each.end - each.start == rate // 50 for each in scored)
    speech = [each for each in scored if recording.start < each.start < recording.end]
    assert len(voiced(speech)) > 0.8 * len(speech)
    assert not voiced(scored[-20:])  # the recording ends in digital silence


def test_webrtcs_detector_hands_out_at_the_tick() -> None:
    heard: list[VoiceScored] = []
    voices = WebrtcVoice()
    stream = voices.open(8000, heard.extend, start=80)
    stream.feed(np.zeros(330, np.int16))
    assert heard == []
    asyncio.run(voices.tick())
    assert [(each.start, each.end) for each in heard] == [(80, 240), (240, 400)]
    assert {each.level for each in heard} == {SILENCE_DB}
    stream.close()
    stream.feed(np.zeros(160, np.int16))
    voices.score_pending()
    assert len(heard) == 2
