"""The last seconds of a stream, by position, at a cost that does not grow with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from media.frame import Samples


class RecentSound:
    """Keeps the newest samples of one unbroken stream; older ones are not there any more."""

    def __init__(self, keep: int) -> None:
        """Keep so many samples."""
        self._octets = bytearray(2 * keep)
        self._ring: Samples = np.frombuffer(self._octets, "<i2")
        "a view of the same memory"
        self.end = 0
        "position after the newest sample"

    def push(self, start: int, pcm: bytes) -> None:
        """Append sound whose first sample has position `start`, right behind what came before.

        `pcm`: signed 16-bit little-endian samples.
        """
        size, length = len(self._octets), len(pcm)
        place, end = 2 * start % size, start + length // 2
        if place + length <= size:
            self._octets[place : place + length] = pcm
        else:
            pcm = pcm[-size:]
            place = (2 * end - len(pcm)) % size
            first = min(len(pcm), size - place)
            self._octets[place : place + first] = pcm[:first]
            self._octets[: len(pcm) - first] = pcm[first:]
        self.end = end  # last: another thread may read up to it

    @property
    def kept(self) -> int:
        """Samples that are kept."""
        return len(self._ring)

    def at(self, places: npt.NDArray[np.int64]) -> Samples:
        """Copy single samples, which must be among those kept; callable from any thread."""
        ring = self._ring
        return ring[places % len(ring)]

    def take(self, start: int, end: int) -> Samples:
        """Copy [start, end), as much of it as is kept."""
        keep = len(self._ring)
        start, end = max(start, self.end - keep, 0), min(end, self.end)
        if start >= end:
            return np.zeros(0, dtype=np.int16)
        place = start % keep
        first = min(end - start, keep - place)
        return np.concatenate(
            (self._ring[place : place + first], self._ring[: end - start - first])
        )
