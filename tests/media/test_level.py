"""Levels, and the edges of speech in recordings of people."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.frame import Samples
from media.level import SILENCE_DB, audible, level, levels, voiced_span
from tests.media.speech import TURNS, Recording

RATE = 8000


def noise(seconds: float, rms: float, seed: int = 1) -> Samples:
    random = np.random.default_rng(seed)
    return np.rint(random.normal(0, rms, round(seconds * RATE))).astype("<i2")


def tone(seconds: float, amplitude: float, hertz: float = 440.0) -> Samples:
    at = np.arange(round(seconds * RATE)) / RATE
    return np.rint(amplitude * np.sin(2 * np.pi * hertz * at)).astype("<i2")


def quiet(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE), dtype="<i2")


class TestLevel:
    def test_the_scale_runs_from_a_full_square_wave_down_to_silence(self) -> None:
        square = np.where(np.arange(800) % 8 < 4, 32767, -32768).astype("<i2")
        assert level(square) == pytest.approx(0, abs=0.001)
        assert level(tone(0.1, 32767)) == pytest.approx(-3.01, abs=0.01)
        assert level(tone(0.1, 3276.7)) == pytest.approx(-23.01, abs=0.01)
        assert level(quiet(0.1)) == SILENCE_DB
        assert level(b"") == SILENCE_DB

    def test_bytes_and_samples_are_the_same_sound(self) -> None:
        assert level(tone(0.1, 1000).tobytes()) == level(tone(0.1, 1000))

    def test_windows_are_whole_and_in_order(self) -> None:
        sound = np.concatenate((quiet(0.02), tone(0.02, 10000), quiet(0.005)))
        by_window = levels(sound, RATE)
        assert by_window[:2].tolist() == [SILENCE_DB, SILENCE_DB]
        assert by_window[2:] == pytest.approx([-13.3, -13.3], abs=0.5)


class TestVoicedSpan:
    @pytest.mark.parametrize("mulaw", [False, True])
    @pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
    def test_it_finds_the_edges_of_real_turns(self, turn: Recording, mulaw: bool) -> None:
        span = voiced_span(turn.samples(mulaw=mulaw), RATE)
        assert span is not None
        # The marks themselves are good to 80 ms.
        assert span[0] / RATE == pytest.approx(turn.start, abs=0.08)
        assert span[1] / RATE == pytest.approx(turn.end, abs=0.08)

    @pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
    def test_the_silence_around_moves_the_edges_by_20_ms_at_most(self, turn: Recording) -> None:
        sound = turn.samples(mulaw=True)
        span = voiced_span(sound, RATE)
        assert span is not None
        short = sound[: round((turn.end + 0.2) * RATE)]
        off_the_grid = sound[43:]
        longer = np.concatenate((sound, quiet(5)))
        room = np.concatenate((sound, np.tile(sound[span[1] + 1600 :], 5)))
        for other, shift in ((short, 0), (off_the_grid, 43), (longer, 0), (room, 0)):
            again = voiced_span(other, RATE)
            assert again is not None
            assert again[0] + shift == pytest.approx(span[0], abs=0.02 * RATE)
            assert again[1] + shift == pytest.approx(span[1], abs=0.02 * RATE)

    @pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.name)
    def test_noise_20_db_down_does_not_count_as_speech(self, turn: Recording) -> None:
        sound = turn.samples()
        inside = sound[round(turn.start * RATE) : round(turn.end * RATE)].astype(float)
        rms = float(np.sqrt(np.mean(inside**2)))
        noisy = np.clip(sound + noise(len(sound) / RATE, rms / 10), -32768, 32767).astype("<i2")
        span = voiced_span(noisy, RATE)
        assert span is not None
        # What is weaker than the noise cannot be found, so the span shrinks, and never grows.
        assert turn.start - 0.05 < span[0] / RATE < turn.start + 0.4
        assert turn.end - 0.4 < span[1] / RATE < turn.end + 0.05

    def test_silence_noise_hum_clicks_and_nothing_have_no_speech(self) -> None:
        click = quiet(1.0)
        click[4000:4080] = 20000
        for sound in (
            quiet(1.0),
            noise(2.0, 20),
            tone(1.0, 100, 50),
            click,
            quiet(0.01),
            quiet(0),
        ):
            assert voiced_span(sound, RATE) is None

    def test_a_click_after_the_end_does_not_move_it(self) -> None:
        turn = TURNS[0]
        sound = turn.samples().copy()
        before = voiced_span(sound, RATE)
        sound[-4000:-3920] += 8000
        assert voiced_span(sound, RATE) == before


class TestAudible:
    def test_intervals_are_exact_and_short_gaps_are_bridged(self) -> None:
        square = np.full(800, 1000, dtype="<i2")
        sound = np.concatenate(
            (quiet(0.1234), square, quiet(0.15), square, quiet(0.5), square, quiet(0.0171))
        )
        assert audible(sound, RATE) == [(987, 987 + 2800), (987 + 2800 + 4000, 987 + 7600)]

    def test_clicks_and_comfort_noise_are_not_heard(self) -> None:
        sound = noise(1.0, 15)
        sound[4000:4050] = 3000
        assert audible(sound, RATE) == []
        assert audible(quiet(0), RATE) == []

    def test_sound_up_to_the_very_end_is_heard(self) -> None:
        square = np.full(803, 1000, dtype="<i2")
        assert audible(square, RATE) == [(0, 803)]

    @given(st.lists(st.tuples(st.integers(300, 3000), st.integers(300, 3000)), max_size=6))
    def test_intervals_lie_apart_and_in_order_and_hold_all_that_is_loud(
        self, parts: list[tuple[int, int]]
    ) -> None:
        pieces = [np.repeat(np.int16([0, 2000]), part) for part in parts]
        sound = np.concatenate([quiet(0), *pieces])
        found = audible(sound, RATE, join_seconds=0.0)
        assert sum(end - start for start, end in found) == np.count_nonzero(sound)
        assert all(a[1] < b[0] for a, b in pairwise(found))
