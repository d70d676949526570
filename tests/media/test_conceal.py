"""Concealment, shortening and comfort noise, judged by level and spectrum."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.conceal import ComfortNoise, Concealer, NoiseShape, shorten
from media.level import level
from tests.media.speech import TURNS

FRAME = 160
Values = npt.NDArray[np.float64]


def voice(hertz: float, samples: int, rate: int = 8000, first: int = 0) -> bytes:
    """A pitch and its overtones, falling off as in a vowel."""
    at = (first + np.arange(samples)) / rate
    tone = sum(np.sin(2 * np.pi * hertz * k * at) / k**1.5 for k in range(1, 12))
    return np.rint(5000 * np.asarray(tone)).astype("<i2").tobytes()


def values(pcm: bytes) -> Values:
    return np.frombuffer(pcm, dtype="<i2").astype(float)


def snr(wanted: bytes, got: bytes) -> float:
    error = np.sum((values(wanted) - values(got)) ** 2)
    return float(10 * np.log10(np.sum(values(wanted) ** 2) / max(error, 1.0)))


def distance(wanted: bytes, got: bytes) -> float:
    """Log-spectral distance in dB over 20 ms frames."""
    spectra = []
    for pcm in (wanted, got):
        frames = values(pcm)[: len(pcm) // 2 // FRAME * FRAME].reshape(-1, FRAME)
        power = np.abs(np.fft.rfft(frames * np.hanning(FRAME), axis=1)) ** 2
        spectra.append(10 * np.log10(power + 1e4))
    return float(np.mean(np.sqrt(np.mean((spectra[0] - spectra[1]) ** 2, axis=1))))


class TestConcealer:
    def test_without_loss_sound_passes_untouched(self) -> None:
        concealer = Concealer(8000)
        for number in range(20):
            frame = voice(120, FRAME, first=number * FRAME)
            assert concealer.good(frame) is frame
        assert concealer.concealed == 0

    @pytest.mark.parametrize("rate", [8000, 16000, 48000])
    @pytest.mark.parametrize("hertz", [80, 125, 160, 200, 250])
    def test_a_voice_goes_on_in_its_pitch(self, hertz: float, rate: int) -> None:
        frame = rate // 50
        concealer = Concealer(rate)
        for number in range(5):
            concealer.good(voice(hertz, frame, rate, number * frame))
        substitute = concealer.lost(frame // 2)
        assert snr(voice(hertz, frame // 2, rate, 5 * frame), substitute) > 15

    def test_it_fades_to_silence_within_60_ms(self) -> None:
        concealer = Concealer(8000)
        for number in range(5):
            concealer.good(voice(125, FRAME, first=number * FRAME))
        whole = b"".join(concealer.lost(FRAME) for _ in range(5))
        steps = [level(whole[at : at + FRAME]) for at in range(0, len(whole), FRAME)]
        assert steps[0] == pytest.approx(level(voice(125, 80)), abs=1.5)
        assert all(a > b or b == -96 for a, b in pairwise(steps[1:]))
        assert steps[6:] == [-96.0] * 4
        assert concealer.concealed == 5 * FRAME

    @pytest.mark.parametrize("gap", [1, 2, 3, 5])
    def test_neither_end_of_a_gap_clicks(self, gap: int) -> None:
        concealer = Concealer(8000)
        out = b""
        for number in range(20):
            if 8 <= number < 8 + gap:
                out += concealer.lost(FRAME)
            else:
                out += concealer.good(voice(137, FRAME, first=number * FRAME))
        usual = np.abs(np.diff(values(voice(137, 1600)))).max()
        assert np.abs(np.diff(values(out))).max() <= 1.25 * usual
        # soon after the gap all is as it was sent
        assert out[-2 * 6 * FRAME :] == voice(137, 6 * FRAME, first=14 * FRAME)

    def test_a_gap_in_silence_stays_silent(self) -> None:
        concealer = Concealer(8000)
        concealer.good(bytes(2 * FRAME))
        assert concealer.lost(FRAME) == bytes(2 * FRAME)

    @pytest.mark.parametrize("turn", TURNS[:4], ids=lambda turn: turn.name)
    def test_speech_with_every_tenth_frame_lost_is_nearer_to_itself_than_with_holes(
        self, turn
    ) -> None:
        sound = turn.samples(mulaw=True).tobytes()
        size = 2 * FRAME
        concealer = Concealer(8000)
        mended = holes = b""
        for number, at in enumerate(range(0, len(sound) - size, size)):
            frame = sound[at : at + size]
            lost = number % 10 == 9
            mended += concealer.lost(FRAME) if lost else concealer.good(frame)
            holes += bytes(size) if lost else frame
        assert len(mended) == len(holes)
        assert distance(sound[: len(mended)], mended) < 0.7 * distance(sound[: len(holes)], holes)

    @given(st.lists(st.tuples(st.booleans(), st.integers(1, 500)), max_size=20))
    def test_as_much_comes_out_as_is_asked_for(self, parts: list[tuple[bool, int]]) -> None:
        concealer = Concealer(8000)
        for lost, samples in parts:
            out = concealer.lost(samples) if lost else concealer.good(voice(180, samples))
            assert len(out) == 2 * samples


class TestShorten:
    @pytest.mark.parametrize("rate", [8000, 16000, 48000])
    @pytest.mark.parametrize("hertz", [110, 150, 220, 330])
    def test_whole_periods_are_left_out_and_the_ends_stay(self, hertz: float, rate: int) -> None:
        frame = rate // 50
        sound = voice(hertz, frame, rate)
        shorter = shorten(sound, rate)
        cut = (len(sound) - len(shorter)) // 2
        assert 0.0025 * rate <= cut <= frame / 2
        periods = cut * hertz / rate
        assert periods == pytest.approx(round(periods), abs=0.06)
        rest = len(sound) - 4 * cut
        assert shorter[len(shorter) - rest :] == sound[len(sound) - rest :]
        assert abs(values(shorter)[0] - values(sound)[0]) < 600
        assert level(shorter) == pytest.approx(level(sound), abs=1.5)

    def test_what_is_too_short_is_left_alone(self) -> None:
        assert shorten(voice(200, 30), 8000) == voice(200, 30)
        assert shorten(b"", 8000) == b""

    def test_a_voice_sped_up_keeps_its_pitch(self) -> None:
        hertz = 160.0
        frames = [voice(hertz, FRAME, first=n * FRAME) for n in range(60)]
        fast = values(b"".join(shorten(one, 8000) for one in frames))
        assert len(fast) < 60 * FRAME * 0.8
        spectrum = np.abs(np.fft.rfft(fast * np.hanning(len(fast)), 1 << 16))
        assert spectrum.argmax() * 8000 / (1 << 16) == pytest.approx(hertz, rel=0.02)


class TestComfortNoise:
    @pytest.mark.parametrize("decibels", [20, 40, 60, 70])
    def test_noise_has_its_level(self, decibels: int) -> None:
        noise = ComfortNoise(NoiseShape(decibels)).make(8000)
        assert level(noise) == pytest.approx(-decibels, abs=0.5)

    def test_a_coloured_noise_has_its_level_and_colour(self) -> None:
        noise = ComfortNoise(NoiseShape(40, (-0.9, 0.2))).make(32000)
        assert level(noise) == pytest.approx(-40, abs=0.5)
        power = np.abs(np.fft.rfft(values(noise))) ** 2
        quarter = len(power) // 4
        assert power[:quarter].sum() > 50 * power[-quarter:].sum()

    def test_pieces_join_and_the_same_seed_gives_the_same(self) -> None:
        shape = NoiseShape(50, (-0.5,))
        one, other = ComfortNoise(shape), ComfortNoise(shape)
        assert b"".join(one.make(FRAME) for _ in range(5)) == other.make(5 * FRAME)

    def test_a_change_of_shape_changes_the_level(self) -> None:
        noise = ComfortNoise(NoiseShape(70))
        noise.make(FRAME)
        noise.change(NoiseShape(30))
        assert level(noise.make(8000)) == pytest.approx(-30, abs=0.5)

    @given(st.integers(0, 127), st.lists(st.integers(0, 254), max_size=12))
    def test_parsing_and_writing_are_inverse(self, decibels: int, coefficients: list[int]) -> None:
        payload = bytes([decibels, *coefficients])
        shape = NoiseShape.parse(payload)
        assert shape.encode() == payload
        assert all(-1 < one < 1 for one in shape.reflections)

    def test_what_is_no_payload(self) -> None:
        with pytest.raises(ValueError, match="level"):
            NoiseShape.parse(b"")
        assert NoiseShape.parse(b"\xbf\xff") == NoiseShape(63, (0.0,))

    @given(st.binary(min_size=1, max_size=20))
    def test_any_payload_makes_bounded_noise(self, payload: bytes) -> None:
        noise = ComfortNoise(NoiseShape.parse(payload)).make(400)
        assert len(noise) == 800
