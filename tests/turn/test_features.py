"""The picture, put together piece by piece, is the one that Whisper's definition gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st

from media.frame import Samples
from tests.turn.recordings import telephone
from turn.features import FRAMES, TurnSound
from turn.mel import BANDS, mel_weights

Doubles = npt.NDArray[np.float64]


def by_definition(sound: Doubles) -> Doubles:
    """Compute the picture of sound at 16 kHz, full scale 1, all at once."""
    whole = np.concatenate([np.zeros(128000), sound])[-128000:]
    whole = (whole - whole.mean()) / np.sqrt(whole.var() + 1e-7)
    padded = np.pad(whole, 200, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 400)[::160][:FRAMES]
    spectrum = np.fft.rfft(windows * np.hanning(401)[:-1])
    logs = np.log10(np.maximum(np.abs(spectrum) ** 2 @ mel_weights(16000), 1e-10))
    found: Doubles = (np.maximum(logs, logs.max() - 8.0).T + 4.0) / 4.0
    return found


def noise(seconds: float, rate: int = 16000, offset: int = 200) -> Samples:
    """Make noise that swells, with a tone and an offset, so that nothing is symmetric."""
    count = int(seconds * rate)
    time = np.arange(count) / rate
    hiss = np.random.default_rng(5).normal(0, 300, count) * (1.2 + np.sin(3 * time))
    return (hiss + 2000 * np.sin(2 * np.pi * 220 * time) + offset).astype(np.int16)


def fed(rate: int, samples: Samples, piece: int = 320) -> TurnSound:
    sound = TurnSound(rate)
    for begin in range(0, len(samples), piece):
        sound.feed(samples[begin : begin + piece])
    return sound


@pytest.mark.parametrize(
    ("start", "at"),
    [
        (0.0, 0.8),
        (1.0, 2.5),
        (0.0, 8.0),
        (0.0, 9.5),
        (9.99, 10.0),
        (13.2, 19.0),
        (4.0, 19.0),
        (11.005, 19.0),
    ],
)
def test_a_turn_anywhere_in_the_stream_looks_as_defined(start: float, at: float) -> None:
    samples = noise(at)
    begin = int(start * 16000) // 160 * 160
    expected = by_definition(samples[begin:] / 32768.0)
    picture = fed(16000, samples).picture(int(start * 16000), int(at * 16000))
    assert picture.shape == (BANDS, FRAMES)
    assert picture.dtype == np.float32
    error = np.abs(picture - expected)
    # Single precision: it shows where a band holds next to nothing beside a large offset.
    assert error.max() < 5e-3
    assert error.mean() < 1e-6


def test_what_comes_after_the_end_does_not_matter() -> None:
    samples = noise(3.0)
    early = fed(16000, samples[: 16000 * 2]).picture(8000, 32000)
    late = fed(16000, samples).picture(8000, 32000)
    assert np.array_equal(early, late)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 12.9), st.floats(0.01, 8.5)), min_size=1, max_size=5),
    st.sampled_from([80, 160, 333]),
)
def test_earlier_questions_change_no_later_picture(
    questions: list[tuple[float, float]], piece: int
) -> None:
    samples = noise(13.0, 8000)
    asked = TurnSound(8000)
    for start, length in sorted(questions, key=sum):
        at = int(min(start + length, 13.0) * 8000)
        for begin in range(asked.end, at, piece):
            asked.feed(samples[begin : begin + piece])
        fresh = fed(8000, samples[: asked.end])
        found = asked.picture(int(start * 8000), at)
        assert np.abs(found - fresh.picture(int(start * 8000), at)).max() < 1e-5


def test_a_shorter_window_is_the_end_of_the_whole_picture() -> None:
    sound = fed(8000, noise(3.0, 8000))
    whole = sound.picture(8000, 24000)
    assert np.array_equal(sound.picture(8000, 24000, 400), whole[:, 400:])


def test_silence_and_nothing_are_flat() -> None:
    sound = fed(8000, np.zeros(16000, np.int16))
    for start, at in ((0, 16000), (8000, 8000), (9000, 8000)):
        assert np.ptp(sound.picture(start, at)) == 0.0


def test_more_sound_than_is_kept_may_come_at_once() -> None:
    samples = noise(15.0, 8000)
    at_once = TurnSound(8000)
    at_once.feed(samples[:100])
    at_once.feed(samples[100:])
    pieces = fed(8000, samples)
    assert at_once.end == pieces.end
    expected = pieces.picture(8 * 8000, 15 * 8000)
    assert np.array_equal(at_once.picture(8 * 8000, 15 * 8000), expected)


def test_telephone_speech_looks_the_same_without_being_resampled() -> None:
    for each in telephone("complete", "incomplete"):
        at = (each.end + 1600) // 80 * 80
        picture = fed(8000, each.samples[:at]).picture(0, at)
        wide = soxr.resample(each.samples[:at] / 32768.0, 8000, 16000)
        error = np.abs(picture - by_definition(wide))
        # The picture spans about 2.5; what differs is the edge of the band at 4 kHz.
        assert error.mean() < 0.008, each.file
        assert error[:60].mean() < 0.002, each.file


def test_a_browser_line_is_resampled() -> None:
    wide = noise(2.0)
    sound = fed(48000, (soxr.resample(wide / 1.0, 16000, 48000)).astype(np.int16), 960)
    at = sound.end * 3
    expected = by_definition(wide[: sound.end // 160 * 160] / 32768.0)
    # The highest bands lie in the resampler's own slope.
    assert np.abs(sound.picture(0, at)[:70] - expected[:70]).mean() < 0.01


def test_sound_that_is_gone_cannot_be_asked_about() -> None:
    sound = fed(8000, noise(20.0, 8000))
    sound.picture(12 * 8000, 18 * 8000)
    with pytest.raises(ValueError, match="not kept"):
        sound.picture(0, 16 * 8000)


def test_bands_have_equal_area_and_a_lower_rate_has_fewer_lines() -> None:
    weights = mel_weights(16000)
    assert weights.shape == (201, BANDS)
    assert mel_weights(8000).shape == (101, BANDS)
    assert np.array_equal(mel_weights(8000), weights[:101])
    # Lines are 40 Hz apart: wide triangles of area 1 sum to 1/40 over them.
    assert weights[:, 60:].sum(axis=0) * 40 == pytest.approx(1.0, abs=0.05)
    assert np.all(np.diff(weights.argmax(axis=0)) >= 0)
