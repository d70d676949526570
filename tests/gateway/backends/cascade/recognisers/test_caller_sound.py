"""What is kept of a caller's sound, and where somebody speaks in it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.backends.cascade.recognisers.caller_sound import SoundRing, speech_span, split
from media.frame import Samples
from tests.media.speech import TURNS, Recording

RATE = 8000


@example(pieces=[(0, 0), (0, 50)], asked=(0, 500))  # a whole round at once, in its place
@given(
    pieces=st.lists(st.tuples(st.integers(-30, 60), st.integers(0, 70)), max_size=12),
    asked=st.tuples(st.integers(0, 500), st.integers(0, 500)),
)
def test_the_ring_gives_back_what_was_pushed_last(
    pieces: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    """Compared with a dictionary of every position; jumps ahead and back, too long pieces."""
    ring = SoundRing(rate=10, seconds=5)
    truth: dict[int, int] = {}
    at, value, newest = 40, 0, 0
    for jump, length in pieces:
        start = max(0, at + jump)
        samples = np.arange(value + 1, value + length + 1, dtype=np.int16)
        ring.push(start, samples)
        oldest = max(newest, start + length) - 50
        truth |= {
            start + offset: int(sample)
            for offset, sample in enumerate(samples)
            if start + offset >= max(oldest, newest - 50)
        }
        value += length
        at = start + length
        newest = max(newest, at)
    start, end = min(asked), max(asked)
    first, last = max(start, newest - 50, 0), min(end, newest)
    wanted = [truth.get(place, 0) for place in range(first, last)]
    assert ring.end == newest
    assert ring.take(start, end).tolist() == wanted


def test_nothing_was_heard_yet() -> None:
    assert SoundRing(RATE, 1).take(0, 100).tolist() == []


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
def test_speech_is_found_where_it_is(turn: Recording) -> None:
    span = speech_span(turn.samples(mulaw=True), RATE)
    assert span is not None
    assert span[0] / RATE == pytest.approx(turn.start, abs=0.12)
    assert span[1] / RATE == pytest.approx(turn.end, abs=0.25)


def noise(level: float, seconds: float = 1.0) -> Samples:
    source = np.random.default_rng(3)
    return (source.normal(0, 32768 * 10 ** (level / 20), int(seconds * RATE))).astype(np.int16)


@pytest.mark.parametrize("level", [-70, -50, -30])
def test_steady_noise_is_no_speech(level: float) -> None:
    assert speech_span(noise(level), RATE) is None


def test_neither_is_silence_or_a_tone_or_nothing() -> None:
    assert speech_span(np.zeros(RATE, np.int16), RATE) is None
    assert speech_span(np.zeros(0, np.int16), RATE) is None
    tone = (8000 * np.sin(np.arange(RATE) * 2 * np.pi * 440 / RATE)).astype(np.int16)
    assert speech_span(tone, RATE) is None


@given(seconds=st.floats(0, 8), longest=st.floats(0.8, 3))
def test_pieces_are_the_whole_and_none_is_too_long(seconds: float, longest: float) -> None:
    samples = noise(-30, seconds)
    pieces = split(samples, RATE, longest)
    assert np.array_equal(np.concatenate(pieces), samples)
    assert all(len(piece) <= longest * RATE for piece in pieces)
    assert all(len(piece) >= longest * RATE / 2 - 200 for piece in pieces[:-1])


def test_a_long_turn_is_cut_in_its_pause() -> None:
    pause = np.zeros(int(0.5 * RATE), np.int16)
    samples = np.concatenate([noise(-20, 2.4), pause, noise(-20, 2.0)])
    first, second = split(samples, RATE, 4.0)
    assert 2.4 <= len(first) / RATE <= 2.9
    assert len(second) / RATE > 2.0
