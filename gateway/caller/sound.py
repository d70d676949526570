"""Recordings that a caller plays, made ready for a line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from media import sound_file
from media.level import voiced_span
from media.resample import convert

LOWEST, HIGHEST = 4000, 192_000
"""Hertz that recorders write; anything else is a broken head, and would fill the memory."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One piece of a caller's speech."""

    name: str
    pcm: bytes
    "signed 16-bit little-endian mono at the line's rate"
    rate: int
    speech_start: int
    "first voiced sample"
    speech_end: int
    "sample after the last voiced one"

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return len(self.pcm) / 2 / self.rate


def recording(name: str, pcm: bytes, rate: int) -> Recording:
    """Find where somebody speaks; where nobody does, all of it counts."""
    span = voiced_span(pcm, rate) or (0, len(pcm) // 2)
    return Recording(name, pcm, rate, *span)


def load(path: Path, rate: int) -> Recording:
    """Read a mono WAV or FLAC of any rate; raises OSError, or ValueError for what is neither."""
    if path.is_dir():
        raise ValueError(f"{path}: is a folder, and no recording")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    samples, source = sound_file.read(path)
    if samples.shape[1] != 1:
        raise ValueError(f"{path}: has {samples.shape[1]} channels, a caller needs one")
    if not LOWEST <= source <= HIGHEST:
        raise ValueError(f"{path}: has {source} Hz; allowed are {LOWEST} to {HIGHEST}")
    pcm = np.ascontiguousarray(samples[:, 0]).astype("<i2").tobytes()
    return recording(path.name, convert(pcm, source, rate), rate)
