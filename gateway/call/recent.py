"""The caller's last seconds of sound, by position, at a cost that does not grow with them."""

from __future__ import annotations

import numpy as np

from media.frame import Samples


class RecentSound:
    """Keeps the newest samples of one unbroken stream; older ones are not there any more."""

    def __init__(self, keep: int) -> None:
        """Keep so many samples."""
        self._ring: Samples = np.zeros(keep, dtype=np.int16)
        self._end = 0

    def push(self, start: int, samples: Samples) -> None:
        """Append sound whose first sample has position `start`, right behind what came before."""
        keep = len(self._ring)
        end = start + len(samples)
        if len(samples) > keep:
            samples = samples[-keep:]
        place = (end - len(samples)) % keep
        first = min(len(samples), keep - place)
        self._ring[place : place + first] = samples[:first]
        self._ring[: len(samples) - first] = samples[first:]
        self._end = end

    def take(self, start: int, end: int) -> Samples:
        """Copy [start, end), as much of it as is kept."""
        keep = len(self._ring)
        start, end = max(start, self._end - keep, 0), min(end, self._end)
        if start >= end:
            return np.zeros(0, dtype=np.int16)
        place = start % keep
        first = min(end - start, keep - place)
        return np.concatenate(
            (self._ring[place : place + first], self._ring[: end - start - first])
        )
