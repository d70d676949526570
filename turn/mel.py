"""Windows and filters by which sound becomes the spectra that the turn detector hears."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


MODEL_RATE: Final = 16000


BANDS: Final = 80


WINDOWS_PER_SECOND: Final = 40
"""Whisper: windows of 25 ms."""


CORRECTED: Final = 2
"""Bands that the mean of the sound reaches into: those with weight on the spectrum's line at 40 Hz
(the line at 0 Hz has none in any band)."""


@cache
def hann(rate: int) -> Floats:
    """Return a periodic Hann window of 25 ms, scaled so that spectra are those at 16 kHz."""
    width = rate // WINDOWS_PER_SECOND
    phase = 2.0 * np.pi * np.arange(width) / width
    return ((0.5 - 0.5 * np.cos(phase)) * MODEL_RATE / rate).astype(np.float32)


@cache
def mel_weights(rate: int) -> Floats:
    """Return the weight of each spectral line in each band: `[lines, 80]`.

    Slaney's mel scale (Auditory Toolbox, 1998): linear up to 1 kHz, then logarithmic; triangles of
    equal area, laid out from 0 to 8 kHz whatever the rate, so that a lower rate has fewer lines.
    """
    lines = np.arange(rate // WINDOWS_PER_SECOND // 2 + 1) * float(WINDOWS_PER_SECOND)
    corners = _hertz(np.linspace(0.0, _mel(MODEL_RATE / 2), BANDS + 2))
    left, middle, right = corners[:-2], corners[1:-1], corners[2:]
    rising = (lines[:, None] - left) / (middle - left)
    falling = (right - lines[:, None]) / (right - middle)
    triangles = np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (right - left))
    return triangles.astype(np.float32)


@cache
def low_weights() -> Floats:
    """Return the weight of the line at 40 Hz in the bands it reaches, as a column."""
    return np.ascontiguousarray(mel_weights(MODEL_RATE)[1, :CORRECTED, None])


def _mel(hertz: float) -> float:
    return 15.0 + float(np.log(hertz / 1000.0)) * 27.0 / float(np.log(6.4))


def _hertz(mel: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    linear = mel * 200.0 / 3.0
    curved = 1000.0 * np.exp((mel - 15.0) * np.log(6.4) / 27.0)
    return np.where(mel < 15.0, linear, curved)
