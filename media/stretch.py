"""A stretch of signal that is kept by position, for as long as it is asked for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Signal = npt.NDArray[np.float32]


class Stretch:
    """A stretch of signal by position; what was never put is silence."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._samples: Signal = np.zeros(4 * keep, dtype=np.float32)
        self._base = 0

    def put(self, start: int, samples: Signal) -> None:
        """Put sound at a position, dropping what is older than `keep` samples."""
        end = start + len(samples)
        if end - self._base > len(self._samples):
            self._move(end - 2 * self._keep)
        at = start - self._base
        if at < 0:
            samples, at = samples[-at:], 0
        self._samples[at : at + len(samples)] = samples

    def cut(self, start: int) -> None:
        """Silence everything from a position on."""
        self._samples[max(0, start - self._base) :] = 0

    def _move(self, base: int) -> None:
        kept = self._samples[max(0, base - self._base) :].copy()
        self._samples[:] = 0
        self._samples[: len(kept)] = kept[: len(self._samples)]
        self._base = base

    def get(self, start: int, end: int) -> Signal:
        """View [start, end), which must lie within what is kept."""
        at = start - self._base
        if at >= 0 and end - self._base <= len(self._samples):
            return self._samples[at : end - self._base]
        out = np.zeros(end - start, dtype=np.float32)
        low, high = max(at, 0), min(end - self._base, len(self._samples))
        if high > low:
            out[low - at : high - at] = self._samples[low:high]
        return out
