"""A recording on the disk: made once, never over another, readable after every write.

It is opened for each write and closed again, so that recordings hold no file open between writes.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from media import private

HEADER = 44
FRAME = 4
"""Bytes of both sides' samples."""

_LONGEST = 2**32 - 1


class WavFile:
    """Sixteen-bit stereo at a path, or beside it where something is there already."""

    def __init__(self, path: Path, rate: int, group_reads: bool = False) -> None:
        self._wanted = path
        self.path = path
        "where it really is, once it is made"
        self.made = False
        self._rate = rate
        self._group_reads = group_reads
        self._frames = 0

    def put(self, start: int, sound: bytes) -> int:
        """Write whole frames at frame `start`; what lies before and was never written is silence.

        Gives how many frames were there and are not any more, because somebody removed the file.
        Raises OSError; what was put before stays readable, and the same may be put again.
        """
        handle = self._reopen()
        lost = self._frames if self.made and handle is None else 0
        if handle is None:
            handle = self._make()
        try:
            _write(handle, HEADER + start * FRAME, sound)
            self._frames = max(self._frames, start + len(sound) // FRAME)
            _write(handle, 0, header(self._frames * FRAME, self._rate))
        finally:
            os.close(handle)
        return lost

    def _reopen(self) -> int | None:
        if not self.made:
            return None
        try:
            return os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None

    def _make(self) -> int:
        """Make the file with its header, under the first name that is free."""
        private.make_folder(self._wanted.parent, self._group_reads)
        # Without a name until it can be read, so that a kill leaves no empty file behind.
        handle = private.open_nameless(self._wanted.parent, self._group_reads)
        if handle is None:
            return self._named()
        try:
            _write(handle, 0, header(0, self._rate))
            for path in names(self._wanted):
                with suppress(FileExistsError):
                    private.give_name(handle, path)
                    self.path, self.made = path, True
                    return handle
        except BaseException:
            os.close(handle)
            raise
        raise AssertionError("names do not end")

    def _named(self) -> int:
        """Make the file where files have their names from the beginning."""
        for path in names(self._wanted):
            with suppress(FileExistsError):
                handle = private.open_file(path, os.O_RDWR | os.O_EXCL, self._group_reads)
                self.path, self.made = path, True
                _write(handle, 0, header(0, self._rate))
                return handle
        raise AssertionError("names do not end")


def names(path: Path) -> Iterator[Path]:
    """Return names for a file: its own, then with `.2`, `.3`, ... before the ending."""
    yield path
    for number in count(2):
        yield path.with_name(f"{path.stem}.{number}{path.suffix}")


def header(length: int, rate: int) -> bytes:
    """Return the header of a file with so many bytes of sound; past 4 GB it says 4 GB."""
    riff, data = min(length + HEADER - 8, _LONGEST), min(length, _LONGEST)
    return b"".join(
        (
            struct.pack("<4sI4s", b"RIFF", riff, b"WAVE"),
            # PCM, two channels, frames a second, bytes a second, bytes a frame, bits a sample
            struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 2, rate, rate * FRAME, FRAME, 16),
            struct.pack("<4sI", b"data", data),
        )
    )


def mend(path: Path) -> None:
    """Complete what a process that was killed left: the header counts every whole frame.

    An empty file goes: it was made a moment before. Raises OSError.
    """
    with path.open("r+b") as file:
        head = file.read(HEADER)
        if len(head) == HEADER and head[:4] == b"RIFF":
            length = (file.seek(0, os.SEEK_END) - HEADER) // FRAME * FRAME
            rate = int.from_bytes(head[24:28], "little")
            file.truncate(HEADER + length)
            file.seek(0)
            file.write(header(length, rate))
            return
    if not head:
        path.unlink()


def _write(handle: int, place: int, content: bytes) -> None:
    """Write all of it, or raise OSError."""
    left = memoryview(content)
    while left:
        wrote = os.pwrite(handle, left, place)
        left, place = left[wrote:], place + wrote
