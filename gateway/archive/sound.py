"""How loud both sides of a recording were over time: what its page draws."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from media.wav_file import FRAME, HEADER

COLUMNS_MOST = 4000
"""Of the whole file: twice what a wide screen has, so that one may look closer."""

BLOCK = 1 << 20
"""Frames looked at at once, so that an hour is never in memory as a whole."""

KEPT = 64
"""Recordings whose peaks are kept in memory, some kilobytes each."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """The loudest sample of each stretch, on a scale to 100, caller and agent."""

    seconds: float
    "length of the file"
    column: float
    "seconds of a stretch"
    caller: list[int]
    agent: list[int]


class Sounds:
    """Looks at recordings, each as long as it does not change."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._kept: OrderedDict[tuple[str, int, int], Peaks] = OrderedDict()

    def path(self, name: str) -> Path | None:
        """Return where a recording lies, where there is one; never a file outside its folder."""
        if self._folder is None or not name or "/" in name or name.startswith("."):
            return None
        path = self._folder / name
        return path if path.is_file() and not path.is_symlink() else None

    def peaks(self, name: str) -> Peaks | None:
        """Return a recording's peaks; None where there is none."""
        path = self.path(name)
        if path is None:
            return None
        seen = path.stat()
        key = (name, seen.st_size, seen.st_mtime_ns)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = peaks_of(path)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


def peaks_of(path: Path) -> Peaks:
    """Look at a recording as `media.recording` writes it, also while it does."""
    with path.open("rb") as file:
        rate = int.from_bytes(file.read(HEADER)[24:28], "little") or 8000
        size = file.seek(0, 2)
        frames = max(0, size - HEADER) // FRAME
        if not frames:
            return Peaks(0.0, 0.02, [], [])
        # Never finer than 20 ms: that is what a line carries at once.
        column = max(rate // 50, -(-frames // COLUMNS_MOST))
        block = max(1, BLOCK // column) * column
        file.seek(HEADER)
        found = [
            _loudest(file.read(min(block, frames - start) * FRAME), column)
            for start in range(0, frames, block)
        ]
    both = np.concatenate(found)
    return Peaks(frames / rate, column / rate, both[:, 0].tolist(), both[:, 1].tolist())


def _loudest(sound: bytes, column: int) -> npt.NDArray[np.int16]:
    """Return one row a stretch: the loudest sample of each side."""
    samples = np.frombuffer(sound[: len(sound) // FRAME * FRAME], dtype="<i2").reshape(-1, 2)
    lacking = -len(samples) % column
    loud = np.pad(np.abs(samples.astype(np.int32)), ((0, lacking), (0, 0)))
    most: npt.NDArray[np.int32] = loud.reshape(-1, column, 2).max(axis=1)
    # By the root, so that quiet speech can be seen beside a loud word.
    scaled: npt.NDArray[np.int16] = np.rint(100.0 * np.sqrt(most / 32768.0)).astype(np.int16)
    return scaled
