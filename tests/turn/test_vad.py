"""Windows of all calls are judged together, and each call hears of its own, in its own time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.runtime import Runtime
from media.frame import Samples
from media.resample import convert
from tests.turn.recordings import recordings, telephone
from turn.events import VoiceScored
from turn.silero import FULL_SCALE
from turn.soon import Soon
from turn.vad import (
    AT_ONCE,
    FEW,
    PENDING_WINDOWS,
    ROOM_WINDOWS,
    SILENCE_DB,
    WINDOW,
    VoiceActivity,
    VoiceStream,
    levels,
    score,
)


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


def assert_same(found: list[VoiceScored], expected: list[VoiceScored], start: int = 0) -> None:
    """Show that windows are the expected ones, `start` samples later."""
    assert [each.start for each in found] == [each.start + start for each in expected]
    assert [each.end for each in found] == [each.end + start for each in expected]
    for name in ("probability", "level"):
        assert [getattr(each, name) for each in found] == pytest.approx(
            [getattr(each, name) for each in expected], abs=1e-4
        )


@pytest.mark.parametrize("rates", [(8000,), (16000,), (8000, 16000)])
def test_many_streams_that_come_and_go_are_judged_as_if_alone(
    voices: VoiceActivity, rates: tuple[int, ...]
) -> None:
    """Three generations, each of more streams than there is room for at first, in used rows.

    They begin one after another, so that room grows while others speak.
    """
    spoken = [each.samples[4000:20000] for each in telephone("complete")]
    sounds = {(n, rate): at_rate(one, rate) for n, one in enumerate(spoken) for rate in rates}
    alone = {one: score(voices, sound, one[1]) for one, sound in sounds.items()}
    for generation in range(3):
        cast = [(n % len(spoken), rates[n % len(rates)]) for n in range(4 * FEW + 5)]
        streams: list[VoiceStream] = []
        together: list[list[VoiceScored]] = [[] for _ in cast]
        for tick in range(100):
            if len(streams) < len(cast):
                streams.append(voices.open(cast[len(streams)][1]))
            for number, stream in enumerate(streams):
                age, step = tick - number, cast[number][1] // 50
                if number % 3 == 0 and age == 20 + generation:
                    stream.close()
                stream.feed(sounds[cast[number]][age * step : (age + 1) * step])
            if tick % 2:
                voices.score_pending()
                for scored, stream in zip(together, streams, strict=False):
                    scored += stream.take()
        for one, stream, found in zip(cast, streams, together, strict=True):
            stream.close()
            assert len(found) >= 10
            assert_same(found, alone[one][: len(found)])


def test_a_row_given_back_while_windows_are_handed_out_is_another_streams_at_once(
    voices: VoiceActivity,
) -> None:
    """One stream's result closes another, of the same batch and with more waiting, and opens one.

    The closed one hears nothing more, and the new one is judged as if alone, in the same row.
    """
    speech, other = (each.samples[8000:24000] for each in telephone("complete")[:2])
    alone = score(voices, other, 8000)
    heard: dict[str, list[VoiceScored]] = {"first": [], "closed": [], "new": []}
    opened: list[VoiceStream] = []

    def act(window: VoiceScored) -> None:
        heard["first"].append(window)
        if len(heard["first"]) == 20:
            closed.close()
            opened.append(voices.open(8000, heard["new"].append))
            opened[0].feed(other[:600])

    first = voices.open(8000, act)
    closed = voices.open(8000, heard["closed"].append)
    row = closed.slot
    for begin in range(0, 16000, 1600):  # more than a row has room for: some is kept aside
        first.feed(speech[begin : begin + 1600])
        closed.feed(speech[begin : begin + 1600])
        voices.score_pending()
    opened[0].feed(other[600:])
    voices.score_pending()
    assert [each.slot for each in opened] == [row]
    assert len(heard["closed"]) == 19
    assert len(heard["first"]) == 16000 // 256
    assert_same(heard["new"], alone)


def test_a_stream_closes_itself_while_it_hears(voices: VoiceActivity) -> None:
    heard: list[VoiceScored] = []

    def act(window: VoiceScored) -> None:
        heard.append(window)
        stream.close()

    stream = voices.open(8000, act)
    stream.feed(np.zeros(5000, np.int16))
    voices.score_pending()
    assert len(heard) == 1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5 * ROOM_WINDOWS * 256), st.booleans()), max_size=15),
    st.sampled_from(sorted(WINDOW)),
)
def test_it_does_not_matter_how_sound_is_cut(
    runtime: Runtime, pieces: list[tuple[int, bool]], rate: int
) -> None:
    """Pieces of any length, more than a row has room for among them, judged at any time."""
    voices = VoiceActivity(runtime)
    length = sum(piece for piece, _ in pieces)
    sound = np.resize(recordings(rate, "complete")[0].samples[rate:], length)
    whole: list[VoiceScored] = []
    one = voices.open(rate)
    for begin in range(0, length, 1000):
        one.feed(sound[begin : begin + 1000])
        voices.score_pending()
    whole = one.take()
    cut = voices.open(rate)
    begin = 0
    for piece, judged in pieces:
        cut.feed(sound[begin : begin + piece])
        begin += piece
        if judged:
            voices.score_pending()
    voices.score_pending()
    assert cut.given_up == 0
    assert len(whole) == length // WINDOW[rate]
    assert_same(cut.take(), whole)
    one.close()
    cut.close()


def test_a_closed_stream_hears_nothing_more(voices: VoiceActivity) -> None:
    heard: list[VoiceScored] = []
    stream = voices.open(8000, heard.append)
    stream.feed(np.zeros(600, np.int16))
    voices.score_pending()
    assert len(heard) == 2
    assert stream.take() == []
    stream.feed(np.zeros(600, np.int16))
    stream.close()
    stream.feed(np.zeros(600, np.int16))
    stream.close()  # once more is no harm: the row is given back once
    voices.score_pending()
    assert len(heard) == 2
    assert len({voices.open(8000).slot for _ in range(2 * FEW)}) == 2 * FEW


def test_a_long_silence_may_come_at_once(voices: VoiceActivity) -> None:
    stream = voices.open(8000)
    stream.feed(np.ones(100, np.int16))
    stream.feed(np.zeros(80000, np.int16))
    voices.score_pending()
    scored = stream.take()
    assert [each.start for each in scored] == [n * 256 for n in range(80100 // 256)]
    assert scored[0].level > SILENCE_DB == scored[-1].level
    assert stream.given_up == 0


def test_if_nobody_judges_the_oldest_windows_are_given_up(voices: VoiceActivity) -> None:
    """What is left is the newest, each window where it belongs: its level says which it is."""
    windows = PENDING_WINDOWS + 225
    loud = np.arange(1, windows + 1, dtype=np.int16) * 50
    sound = np.repeat(loud, 256)
    stream = voices.open(8000)
    for begin in range(0, len(sound), 1600):
        stream.feed(sound[begin : begin + 1600])
    voices.score_pending()
    scored = stream.take()
    assert stream.given_up == 225
    assert [each.start for each in scored] == [n * 256 for n in range(225, windows)]
    expected = 20 * np.log10(loud[225:] / FULL_SCALE)
    assert [each.level for each in scored] == pytest.approx(expected.tolist(), abs=1e-3)


async def test_results_come_at_the_moment_the_sound_does(voices: VoiceActivity) -> None:
    """In virtual time, frames every 20 ms: a window is heard of when its last frame comes."""
    recording = telephone("complete")[0]
    heard: list[tuple[float, VoiceScored]] = []

    loop = asyncio.get_running_loop()
    begun = loop.time()
    voices.attend()
    stream = voices.open(8000, lambda found: heard.append((loop.time() - begun, found)))
    for number in range(100):
        await asyncio.sleep(begun + number * 0.02 - loop.time())
        stream.feed(recording.samples[number * 160 : (number + 1) * 160])
    await asyncio.sleep(0.05)
    stream.close()
    assert len(heard) == 62
    completed = [(each.end - 1) // 160 * 0.02 for _, each in heard]
    assert [when for when, _ in heard] == pytest.approx(completed, abs=1e-6)


async def test_what_is_asked_for_often_is_done_once_after_what_the_loop_reads_meanwhile() -> None:
    loop = asyncio.get_running_loop()
    done: list[str] = []
    soon = Soon(lambda: done.append("act"))
    soon.ask()
    await asyncio.sleep(0.1)
    assert done == []  # not before it has begun
    soon.begin()

    def packet(name: str, then: Callable[[], object]) -> None:
        done.append(name)
        soon.ask()
        then()

    for _ in range(2):
        # The second comes while the first is handled, as what a loop reads next does.
        packet("one", lambda: loop.call_soon(packet, "two", lambda: None))
        packet("one", lambda: None)
        assert "act" not in done[-2:]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    got = done
    assert got == ["one", "one", "two", "act"] * 2


async def test_a_long_backlog_lets_the_loop_run_in_between(voices: VoiceActivity) -> None:
    """Ten seconds come at once: a few windows of them are judged in one go."""
    passes = 0
    heard: list[tuple[int, VoiceScored]] = []

    loop = asyncio.get_running_loop()
    voices.attend()
    stream = voices.open(8000, lambda found: heard.append((passes, found)))
    stream.feed(np.zeros(80000, np.int16))
    begun = loop.time()
    while len(heard) < 80000 // 256 and passes < 1000:
        passes += 1
        await asyncio.sleep(0)
    assert loop.time() == begun
    stream.close()
    assert [each.start for _, each in heard] == [n * 256 for n in range(80000 // 256)]
    goes = sorted({when for when, _ in heard})
    counts = [sum(when == go for when, _ in heard) for go in goes]
    assert counts == [AT_ONCE] * (len(heard) // AT_ONCE) + [len(heard) % AT_ONCE]
    assert all(after - before >= 2 for before, after in pairwise(goes))
    assert len(goes) > 10  # half a second of sound in a go, or less


def test_levels_are_in_decibels_below_a_full_square_wave() -> None:
    square = np.ones(256, np.float32)
    sine = np.sin(2 * np.pi * np.arange(256) / 32).astype(np.float32)
    found = levels(np.stack([square, sine, np.zeros(256, np.float32), square / 10]))
    assert found == pytest.approx([0.0, -3.01, SILENCE_DB, -20.0], abs=0.01)
