"""What the resampler lets through, what it keeps out, and that pieces make no difference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.resample import Resampler, convert

AMPLITUDE = 16000


def tone(hertz: float, rate: int, seconds: float = 0.5) -> bytes:
    at = np.arange(int(rate * seconds)) / rate
    return np.rint(AMPLITUDE * np.sin(2 * np.pi * hertz * at)).astype("<i2").tobytes()


def streamed(pcm: bytes, source: int, target: int, piece: int = 960) -> bytes:
    resampler = Resampler(source, target)
    pieces = [resampler.feed(pcm[at : at + piece]) for at in range(0, len(pcm), piece)]
    return b"".join(pieces) + resampler.flush()


def middle(pcm: bytes) -> npt.NDArray[np.float64]:
    """Leave out both ends, where a tone that is switched on and off is no tone."""
    samples = np.frombuffer(pcm, dtype="<i2").astype(float)
    return samples[len(samples) // 5 : -len(samples) // 5]


def level_db(pcm: bytes) -> float:
    """RMS against that of the tone that went in."""
    rms = float(np.sqrt(np.mean(middle(pcm) ** 2)))
    return 20 * np.log10(max(rms, 1e-3) / (AMPLITUDE / np.sqrt(2)))


def whole(pcm: bytes, source: int, target: int) -> bytes:
    return convert(pcm, source, target)


@pytest.mark.parametrize("way", [streamed, whole])
@pytest.mark.parametrize(("source", "target"), [(24000, 8000), (48000, 8000), (16000, 8000)])
def test_what_the_new_rate_cannot_carry_is_60_db_down(way, source: int, target: int) -> None:
    nyquist = target / 2
    # At 8 kHz from 4.6 kHz: the mirror image of 3.4 kHz, where the telephone band ends.
    for hertz in np.linspace(nyquist * 1.15, source / 2 * 0.98, 25):
        assert level_db(way(tone(hertz, source), source, target)) < -60


@pytest.mark.parametrize("way", [streamed, whole])
@pytest.mark.parametrize(
    ("source", "target"),
    [(24000, 8000), (8000, 24000), (8000, 16000), (48000, 8000), (44100, 8000)],
)
def test_the_telephone_band_passes_flat(way, source: int, target: int) -> None:
    for hertz in np.linspace(100, 3400, 25):
        assert level_db(way(tone(hertz, source), source, target)) == pytest.approx(0, abs=0.1)


def test_a_tone_stays_pure_on_the_way_up() -> None:
    up = middle(streamed(tone(1000, 8000, 1.0), 8000, 24000))
    spectrum = np.abs(np.fft.rfft(up * np.blackman(len(up)))) ** 2
    peak = int(spectrum.argmax())
    near = spectrum[peak - 8 : peak + 9].sum()
    assert 10 * np.log10((spectrum.sum() - near) / near) < -60


@given(
    cuts=st.lists(st.integers(1, 700), min_size=1, max_size=30),
    rates=st.sampled_from([(24000, 8000), (8000, 24000), (44100, 16000), (8000, 16000)]),
)
def test_how_the_sound_is_cut_makes_no_difference(cuts: list[int], rates: tuple[int, int]) -> None:
    sound = tone(440, rates[0], 0.2)
    resampler = Resampler(*rates)
    out, at = b"", 0
    for cut in cuts:
        out += resampler.feed(sound[at : at + 2 * cut])
        at += 2 * cut
    out += resampler.feed(sound[at:]) + resampler.flush()
    reference = np.frombuffer(streamed(sound, *rates), dtype="<i2").astype(int)
    got = np.frombuffer(out, dtype="<i2").astype(int)
    assert len(got) == len(reference)
    # libsoxr dithers when it rounds to 16 bits
    assert np.abs(got - reference).max() <= 2


@pytest.mark.parametrize(("source", "target"), [(24000, 8000), (8000, 24000), (44100, 8000)])
def test_length_and_place_are_kept(source: int, target: int) -> None:
    click = np.zeros(source, dtype="<i2")
    click[source // 2] = 30000
    out = np.frombuffer(streamed(click.tobytes(), source, target), dtype="<i2")
    assert abs(len(out) - target) <= 1
    assert abs(int(np.abs(out).argmax()) - target // 2) <= max(1, target // source)


def test_at_most_40_ms_are_held_back() -> None:
    for source, target in [
        (24000, 8000),
        (8000, 24000),
        (8000, 16000),
        (16000, 8000),
        (48000, 8000),
    ]:
        resampler = Resampler(source, target)
        frame = bytes(source // 50 * 2)
        given_out = sum(len(resampler.feed(frame)) for _ in range(50)) / 2 / target
        assert given_out >= 0.96


def test_equal_rates_change_nothing_and_a_flushed_one_begins_anew() -> None:
    same = Resampler(8000, 8000)
    assert same.feed(b"\1\2\3\4") == b"\1\2\3\4"
    assert same.flush() == b""
    assert convert(b"\1\2", 8000, 8000) == b"\1\2"
    assert convert(b"", 8000, 16000) == b""
    resampler = Resampler(24000, 8000)
    first = resampler.feed(tone(300, 24000)) + resampler.flush()
    second = resampler.feed(tone(300, 24000)) + resampler.flush()
    assert len(first) == len(second)
    assert resampler.feed(b"") == b""
