"""Where log lines go: a file that is renamed when it has grown, or standard output.

Several processes may write one file: each batch of whole lines is appended by one system call,
and whoever finds the file renamed by another opens the new one.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path
from typing import Protocol

from media import private


class Sink(Protocol):
    """Takes whole lines."""

    def write(self, lines: bytes) -> None:
        """Hand lines to the system; raises OSError."""

    def close(self) -> None:
        """Let go."""


class StandardOutput:
    """Writes to standard output, as containers like it."""

    def write(self, lines: bytes) -> None:
        """Hand lines to the system."""
        sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """Leave standard output to its owner."""


class LogFile:
    """Appends to a file; past `limit` bytes it becomes `.1`, what was `.1` becomes `.2`, ..."""

    def __init__(self, path: str | Path, limit: int, keep: int, group_reads: bool = False) -> None:
        self.path = Path(path)
        self._limit = limit
        self._keep = keep
        self._group_reads = group_reads
        private.make_folder(self.path.parent, group_reads)
        self._file = self._open()
        self._torn = False
        "the last write ended within a line"

    def write(self, lines: bytes) -> None:
        """Append whole lines, after moving on to a new file where that is due."""
        if self._moved():
            self._reopen()
        if 0 < self._limit < os.fstat(self._file).st_size + len(lines):
            self._rotate()
        if self._torn:
            lines = b"\n" + lines  # what a full disk cut short must not spoil the next line
        left = memoryview(lines)
        self._torn = True
        while left:
            left = left[os.write(self._file, left) :]
        self._torn = False

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _open(self) -> int:
        return private.open_file(self.path, os.O_WRONLY | os.O_APPEND, self._group_reads)

    def _reopen(self) -> None:
        fresh = self._open()
        os.close(self._file)
        self._file = fresh

    def _moved(self) -> bool:
        """Say whether the path is another file by now (renamed by another process, or deleted)."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return True
        ours = os.fstat(self._file)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def _rotate(self) -> None:
        """Rename what is full, once, whoever comes first."""
        with open(f"{self.path}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._moved() and os.fstat(self._file).st_size > 0:
                for number in range(self._keep, 0, -1):
                    older = aged(self.path, number)
                    newer = aged(self.path, number - 1)
                    if newer.exists():
                        newer.replace(older)
                if self._keep == 0:
                    self.path.unlink(missing_ok=True)
        self._reopen()


def aged(path: Path, number: int) -> Path:
    """Give the name of the `number`th file back; 0 is the one being written."""
    return path.with_name(f"{path.name}.{number}") if number else path


def all_files(path: Path) -> list[Path]:
    """List a log's files, the oldest first."""
    numbers = []
    for each in path.parent.glob(f"{path.name}.*"):
        tail = each.name[len(path.name) + 1 :]
        if tail.isdigit():
            numbers.append(int(tail))
    files = [aged(path, number) for number in sorted(numbers, reverse=True)]
    return [*files, path] if path.exists() else files
