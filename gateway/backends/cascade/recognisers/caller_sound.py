"""Keeps the caller's last sound, and knows where in a stretch of it somebody speaks."""

from __future__ import annotations

import numpy as np

from media.frame import Samples
from media.level import levels, voiced_span

FRAME_SECONDS = 0.02
"""Length of the windows in which levels are taken."""

SILENT = -55.0
"""dBFS: a turn whose loudest frames stay below is a line at rest; quiet callers reach -35."""
STEADY = 5.0
"""dB from the softest to the loudest frames: below it a hum, a tone or noise, but no speech.
Recorded turns have 20 and more, a steady kitchen has 4."""

QUIET_SECONDS = 0.3
"""Where a long turn is cut, the softest stretch of this length is sought."""


class SoundRing:
    """The last so many seconds of one stream, by position; what is missing reads as silence."""

    def __init__(self, rate: int, seconds: float) -> None:
        """Take the line's rate and how much is kept."""
        self._samples: Samples = np.zeros(int(rate * seconds), np.int16)
        self._end: int | None = None
        "position after the newest sample; None: nothing came yet"

    @property
    def end(self) -> int:
        """Return the position after the newest sample."""
        return self._end or 0

    def push(self, start: int, samples: Samples) -> None:
        """Add sound; what came before is replaced, gaps become silence, too old is left out."""
        size = len(self._samples)
        place = start % size
        if start == self._end and place + len(samples) <= size:  # as it nearly always is
            self._samples[place : place + len(samples)] = samples
            self._end = start + len(samples)
            return
        newest = start if self._end is None else self._end
        if start > newest:
            self._write(max(newest, start - size), np.zeros(min(start - newest, size), np.int16))
        skip = max(0, newest - size - start, len(samples) - size)
        if skip < len(samples):
            self._write(start + skip, samples[skip:])
        self._end = max(newest, start + len(samples))

    def take(self, start: int, end: int) -> Samples:
        """Copy [start, end), as much of it as is kept."""
        end = min(end, self.end)
        start = max(start, self.end - len(self._samples), 0)
        if start >= end:
            return np.zeros(0, np.int16)
        place, wanted = start % len(self._samples), end - start
        taken = self._samples[place : place + wanted]
        return np.concatenate([taken, self._samples[: wanted - len(taken)]])

    def _write(self, start: int, samples: Samples) -> None:
        """Write at most one round of the ring."""
        size = len(self._samples)
        place = start % size
        first = min(len(samples), size - place)
        self._samples[place : place + first] = samples[:first]
        self._samples[: len(samples) - first] = samples[first:]


def speech_span(samples: Samples, rate: int) -> tuple[int, int] | None:
    """Find where speech begins and ends; None: there is none, or nothing but steady noise."""
    found = levels(samples, rate, FRAME_SECONDS)
    if len(found) == 0:
        return None
    loudest, softest = np.percentile(found, 95), np.percentile(found, 10)
    if loudest < SILENT or loudest - softest < STEADY:
        return None
    return voiced_span(samples, rate)


def loudest(samples: Samples, rate: int) -> float:
    """Return how loud the loud frames are, in dBFS."""
    found = levels(samples, rate, FRAME_SECONDS)
    return float(np.percentile(found, 95)) if len(found) else SILENT


def split(samples: Samples, rate: int, longest: float) -> list[Samples]:
    """Cut sound into pieces of at most `longest` seconds, each cut in the softest moment.

    A cut is sought in the second half of what may be one piece, so that no piece is tiny.
    """
    pieces: list[Samples] = []
    limit = int(longest * rate)
    while len(samples) > limit:
        half = limit // 2
        found = levels(samples[half:limit], rate, FRAME_SECONDS)
        window = max(1, int(QUIET_SECONDS / FRAME_SECONDS))
        power = np.convolve(10 ** (found / 10), np.ones(window), "valid")
        middle = int(np.argmin(power)) + window // 2
        cut = half + middle * int(rate * FRAME_SECONDS)
        pieces.append(samples[:cut])
        samples = samples[cut:]
    return [*pieces, samples]
