"""Where log lines go: a file that is renamed when it has grown, or standard output.

Several processes may write one file: each batch of whole lines is appended by one system call,
and whoever finds the file renamed by another opens the new one.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from media import private


class Sink(Protocol):
    """Takes whole lines."""

    def write(self, lines: bytes) -> int:
        """Hand lines to the system; give how many bytes it took, up to the end of a line.

        Raises OSError where it took no line.
        """

    def close(self) -> None:
        """Let go."""


class StandardOutput:
    """Writes to standard output, as containers like it."""

    def write(self, lines: bytes) -> int:
        """Hand lines to the system, all of them together: other processes may write there too."""
        with ExitStack() as held:
            try:
                # A pipe takes 4 KiB at once (PIPE_BUF), and a line may be longer.
                fcntl.lockf(sys.stdout.fileno(), fcntl.LOCK_EX)
                held.callback(fcntl.lockf, sys.stdout.fileno(), fcntl.LOCK_UN)
            except OSError:  # nothing that can be locked, or no file at all
                pass
            sys.stdout.buffer.write(lines)
            sys.stdout.buffer.flush()
        return len(lines)

    def close(self) -> None:
        """Leave standard output to its owner."""


@dataclass(frozen=True, slots=True)
class _Torn:
    """A line of which a full disk took a part."""

    line: bytes
    rest: bytes
    size: int
    "of the file, with that part"


class LogFile:
    """Appends to a file; past `limit` bytes it becomes `.1`, what was `.1` becomes `.2`, ...

    No line is left in halves: what a full disk cut is completed, and what a process that was killed
    cut is set apart. A folder that was removed is made again.
    """

    def __init__(self, path: str | Path, limit: int, keep: int, group_reads: bool = False) -> None:
        self.path = Path(path)
        self._limit = limit
        self._keep = keep
        self._group_reads = group_reads
        self._file = self._open()
        self._torn: _Torn | None = None

    def write(self, lines: bytes) -> int:
        """Append whole lines, after moving on to a new file where that is due."""
        while True:
            if self._moved():
                self._reopen()
            if 0 < self._limit < os.fstat(self._file).st_size + len(lines):
                self._rotate()
            with standing_still(self.path):
                if not self._moved():  # else another process has renamed it just now
                    return self._put(lines)

    def _put(self, lines: bytes) -> int:
        ahead = self._ahead()
        content = ahead + lines
        wrote, error = self._append(content)
        if error is None:
            self._torn = None
            return len(lines)
        end = self._note(content, ahead, wrote)
        if end <= len(ahead):
            raise error
        return end - len(ahead)

    def _note(self, content: bytes, ahead: bytes, wrote: int) -> int:
        """Remember which line is torn after a part was written; give where that line ends."""
        size = os.fstat(self._file).st_size
        if wrote == 0:
            return 0
        if wrote < len(ahead):
            line = ahead if self._torn is None else self._torn.line
            self._torn = _Torn(line, ahead[wrote:], size)
            return 0
        start = content.rfind(b"\n", 0, wrote) + 1
        if start == wrote:
            self._torn = None
            return wrote
        end = content.index(b"\n", wrote) + 1
        self._torn = _Torn(content[start:end], content[wrote:end], size)
        return end

    def _append(self, content: bytes) -> tuple[int, OSError | None]:
        """Write as much as the system takes; give how much, and why it was not all."""
        wrote = 0
        try:
            while wrote < len(content):
                wrote += os.write(self._file, content[wrote:] if wrote else content)
        except OSError as error:
            return wrote, error
        return wrote, None

    def _ahead(self) -> bytes:
        """Return what must stand before the next line: the rest of a torn one, or an end of it."""
        size = os.fstat(self._file).st_size
        if self._torn is not None and size == self._torn.size:
            return self._torn.rest
        ended = size == 0 or os.pread(self._file, 1, size - 1) == b"\n"
        again = b"" if self._torn is None else self._torn.line
        return again if ended else b"\n" + again

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _open(self) -> int:
        private.make_folder(self.path.parent, self._group_reads)
        return private.open_file(self.path, os.O_RDWR | os.O_APPEND, self._group_reads)

    def _reopen(self) -> None:
        fresh = self._open()
        os.close(self._file)
        self._file = fresh

    def _moved(self) -> bool:
        """Return whether the path is another file by now (renamed by somebody, or deleted)."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return True
        ours = os.fstat(self._file)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def _rotate(self) -> None:
        """Rename what is full, once, whoever comes first."""
        with open(f"{self.path}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # nobody writes to what is renamed, nor looks at it
            if not self._moved() and os.fstat(self._file).st_size > 0:
                for number in range(self._keep, 0, -1):
                    older = aged(self.path, number)
                    newer = aged(self.path, number - 1)
                    if newer.exists():
                        newer.replace(older)
                if self._keep == 0:
                    self.path.unlink(missing_ok=True)
        self._reopen()


@contextmanager
def standing_still(path: Path) -> Iterator[None]:
    """Let no process rename the log's files, for writing to them or for finding one's way.

    What is renamed is therefore complete, and whoever follows the log misses nothing of it.
    """
    try:
        lock = open(f"{path}.lock")  # noqa: SIM115  # closed below, and there may be none
    except FileNotFoundError:  # nothing was ever renamed
        with open(f"{path}.lock", "a"):
            pass
        lock = open(f"{path}.lock")  # noqa: SIM115
    with lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def aged(path: Path, number: int) -> Path:
    """Return the name of the `number`th file back; 0 is the one being written."""
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
