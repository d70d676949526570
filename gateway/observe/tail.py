"""Reads a log that is being written, across renaming and truncation, losing no line.

Each `read` gives the whole lines that came since the last one and returns at once; how often to
ask is for the caller to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gateway.observe.files import all_files, standing_still

CHUNK = 1 << 20
"""Read at once at most, so that a huge log does not fill the memory."""


class Tail:
    """Follows one log, from the start of one of its files."""

    def __init__(self, path: Path, first: Path | None = None) -> None:
        self._path = path
        self._part = b""
        "the beginning of a line whose end has not come"
        self._file: BinaryIO | None = None
        self._open(first)

    def read(self) -> list[bytes]:
        """Return the lines that came since the last time, without their line ends."""
        lines: list[bytes] = []
        while True:
            if self._file is None and not self._open():
                return lines
            assert self._file is not None
            new = self._file.read(CHUNK)
            if new:
                *whole, self._part = (self._part + new).split(b"\n")
                lines += whole
                if len(new) == CHUNK:
                    return lines  # there is more, next time
            elif not self._move_on():
                return lines

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Tail:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, path: Path | None = None) -> bool:
        try:
            self._file = (path or self._path).open("rb", buffering=0)
        except FileNotFoundError:
            return False
        return True

    def _move_on(self) -> bool:
        """At the end of a file: go to the one that follows it, if there is one."""
        assert self._file is not None
        ours = os.fstat(self._file.fileno())
        if ours.st_size < self._file.tell():  # truncated: what comes is new from the start
            self._file.seek(0)
            self._part = b""
            return ours.st_size > 0
        with _looking(self._path):
            following = self._following(ours)
            if following is None:
                return False
            if os.fstat(self._file.fileno()).st_size > self._file.tell():
                return True  # written between our last look and the renaming
            self._file.close()
            self._part = b""  # a process died within this line
            return self._open(following)

    def _following(self, ours: os.stat_result) -> Path | None:
        """Find the file that was begun after ours was renamed; None: ours is the newest."""
        newer: Path | None = None
        for path in reversed(all_files(self._path)):
            try:
                there = path.stat()
            except FileNotFoundError:
                continue
            if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino):
                return newer
            newer = path
        # Ours is gone: begin with the oldest that is left, unless nothing is.
        return newer


@contextmanager
def _looking(path: Path) -> Iterator[None]:
    """Find one's way while nothing is renamed, where this may be asked for."""
    with ExitStack() as held:
        with suppress(OSError):  # a copy of a log has no lock, or is not ours to write beside
            held.enter_context(standing_still(path))
        yield


def beginning(path: Path, count: int | None) -> Path:
    """Say with which of a log's files to begin to have its last `count` lines; None: all."""
    files = all_files(path) or [path]
    if count is None:
        return files[0]
    left = count
    for each in reversed(files):
        left -= _lines(each)
        if left <= 0:
            return each
    return files[0]


def _lines(path: Path) -> int:
    try:
        with path.open("rb") as opened:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: opened.read(CHUNK), b""))
    except FileNotFoundError:
        return 0
