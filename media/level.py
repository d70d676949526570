"""How loud sound is, and from where to where somebody speaks in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from media.frame import Samples

Decibels = npt.NDArray[np.float64]

SILENCE_DB = -96.0
"""Level of digital silence: half a step of 16 bits is 96 dB below full scale."""

WINDOW_SECONDS = 0.01
"""Speech does not start or stop within less; a pitch period of a deep voice just fits."""

HUM_HERTZ = 150
"""Mains hum and rumble below this say nothing about speech, and telephones do not carry it."""

DOWN_DB = 36.0
"""Sounds this far below the loudest syllable are breath and room: the weakest consonants are
28 dB below the strongest vowels (Fletcher, Speech and Hearing in Communication, 1953), and a
speaker's own level falls towards the end of a turn."""

ABOVE_NOISE_DB = 10.0
"""How far above the quiet tenth of the recording a sound must be."""

NOISY_CAP_DB = 12.0
"""In loud noise the threshold still stays this far below the loudest syllable."""

HYSTERESIS_DB = 4.0
"""A stretch must rise this far above the threshold somewhere to count."""

FAINT_DB = -62.0
"""Below this nothing counts: G.711's smallest steps are at -72 to -66 dB."""

SHORTEST_WINDOWS = 4
"""Shorter than 40 ms is a click; the shortest plosives with their vowel are longer."""

AUDIBLE_DB = -50.0
"""What a listener on a telephone notices beside line noise (comfort noise is at -60 or below)."""


def _samples(sound: Samples | bytes) -> Samples:
    return np.frombuffer(sound, dtype="<i2") if isinstance(sound, bytes) else sound


def level(sound: Samples | bytes) -> float:
    """Return the RMS in dBFS: 0 is a full-scale square wave, silence is -96."""
    samples = _samples(sound).astype(np.float32)
    if not samples.size:
        return SILENCE_DB
    return float(_decibels(np.dot(samples, samples) / samples.size))


def levels(sound: Samples | bytes, rate: int, seconds: float = WINDOW_SECONDS) -> Decibels:
    """Return the RMS in dBFS of each whole window."""
    return _window_levels(_samples(sound).astype(np.float32), round(rate * seconds))


def _decibels(power: npt.NDArray[np.float32] | np.float32) -> Decibels:
    """Turn mean squares of 16-bit samples into dBFS."""
    relative = np.asarray(power, dtype=np.float64) / 32768.0**2
    return 10 * np.log10(np.maximum(relative, 10 ** (SILENCE_DB / 10)))


def _window_levels(signal: npt.NDArray[np.float32], width: int) -> Decibels:
    whole = len(signal) // width
    windows = signal[: whole * width].reshape(whole, width)
    return _decibels(np.mean(windows * windows, axis=1, dtype=np.float32))


def _without_hum(samples: Samples, rate: int) -> npt.NDArray[np.float32]:
    """Subtract the moving average over one period of the hum's upper edge."""
    signal = samples.astype(np.float32)
    width = rate // HUM_HERTZ
    if len(signal) < width:
        return signal
    sums = np.cumsum(np.concatenate(([0.0], samples.astype(np.float64))))
    average = (sums[width:] - sums[:-width]) / width
    first = width // 2
    signal[first : first + len(average)] -= average.astype(np.float32)
    return signal


def voiced_span(sound: Samples | bytes, rate: int) -> tuple[int, int] | None:
    """Find the first voiced sample, and the one after the last; None where nobody speaks.

    The threshold hangs on the loudest syllable and on the noise, and on neither's duration, so
    that more or less silence around the speech moves nothing.
    """
    width = round(rate * WINDOW_SECONDS)
    by_window = _window_levels(_without_hum(_samples(sound), rate), width)
    if len(by_window) < SHORTEST_WINDOWS:
        return None
    threshold = _speech_threshold(by_window)
    stretches = [
        (start, end)
        for start, end in _stretches(by_window > threshold)
        if end - start >= SHORTEST_WINDOWS
        and by_window[start:end].max() > threshold + HYSTERESIS_DB
    ]
    if not stretches:
        return None
    return stretches[0][0] * width, stretches[-1][1] * width


def _speech_threshold(by_window: Decibels) -> float:
    """Choose the level above which a window belongs to speech."""
    # A syllable lasts 50 ms and more, which a click does not.
    loudest = float(_decibels(_smooth(10 ** (by_window / 10), 5).max() * 32768.0**2))
    quiet = by_window[(by_window > SILENCE_DB + 16) & (by_window < loudest - 15)]
    # Digital silence and speech are no noise; under ten windows are no measure of it.
    noise = float(np.percentile(quiet, 10)) if len(quiet) > 10 else SILENCE_DB
    above_noise = min(noise + ABOVE_NOISE_DB, loudest - NOISY_CAP_DB)
    return max(loudest - DOWN_DB, above_noise, FAINT_DB)


def _smooth(values: Decibels, width: int) -> Decibels:
    return np.convolve(values, np.full(width, 1 / width), "same")


def _stretches(on: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of True as half-open intervals."""
    edges = np.diff(np.concatenate(([0], on.astype(np.int8), [0])))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def audible(
    sound: Samples | bytes,
    rate: int,
    *,
    threshold_db: float = AUDIBLE_DB,
    join_seconds: float = 0.2,
    shortest_seconds: float = 0.02,
) -> list[tuple[int, int]]:
    """Find the intervals, in samples, in which a listener hears something.

    Pauses up to `join_seconds` (those inside words) do not part an interval, and what is shorter
    than `shortest_seconds` is not one.
    The edges are the first and last sample as loud as the threshold, not those of a window.
    """
    samples = _samples(sound)
    width = round(rate * WINDOW_SECONDS)
    padded = np.concatenate((samples, np.zeros(-len(samples) % width, dtype=samples.dtype)))
    by_window = _window_levels(padded.astype(np.float32), width)
    amplitude = 32768 * 10 ** (threshold_db / 20)
    intervals: list[tuple[int, int]] = []
    for first, last in _stretches(by_window > threshold_db):
        loud = np.flatnonzero(np.abs(samples[first * width : last * width]) >= amplitude)
        start, end = first * width + int(loud[0]), first * width + int(loud[-1]) + 1
        if intervals and start - intervals[-1][1] <= join_seconds * rate:
            intervals[-1] = (intervals[-1][0], end)
        else:
            intervals.append((start, end))
    return [(start, end) for start, end in intervals if end - start >= shortest_seconds * rate]
