"""Writes journals: the loop appends what happened to a list, one thread packs and writes it.

A block is written every half second, so that killing the process costs no more than that.
What waits of one call is bounded; a journal that the disk cannot keep up with ends there, and its
last record says so.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gateway.replay.file import MAGIC, packed
from gateway.replay.records import Closed, Header, Lost, Record, encode
from media import private
from media.wav_file import names

INTERVAL = 0.5
"""Seconds between blocks."""

WAITING = 40_000
"""Records of one call that may wait: three minutes of a busy one, some 20 MB."""

Note = Callable[[Record], None]
Prepared = Callable[[Record], Record]
"""What is done to a record on the thread before it is written."""


class JournalFile:
    """One call's journal on its way to the disk."""

    def __init__(
        self,
        path: Path,
        header: Header,
        prepare: Prepared,
        told: Callable[[str], None],
        group_reads: bool,
    ) -> None:
        self.path = path
        self.header = header
        self.prepare = prepare
        self.told = told
        self.group_reads = group_reads
        self.closed = False
        self.waiting: deque[Record] = deque()

    def note(self, record: Record) -> None:
        """Take what happened; on the loop, and at once."""
        if self.closed:
            return
        if len(self.waiting) >= WAITING:
            record = Lost(record.t)
        self.waiting.append(record)
        self.closed = isinstance(record, Lost | Closed)


class JournalWriter:
    """The thread that writes the journals of a process."""

    def __init__(self, interval: float = INTERVAL) -> None:
        """Start writing every `interval` seconds."""
        self._interval = interval
        self._new: deque[JournalFile] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="call journals", daemon=True)
        self._thread.start()

    def open(
        self,
        path: Path,
        header: Header,
        prepare: Prepared = lambda record: record,
        told: Callable[[str], None] = lambda reason: None,
        group_reads: bool = False,
    ) -> JournalFile:
        """Begin a journal; `told` is told, on the thread, why it could not be gone on with."""
        file = JournalFile(path, header, prepare, told, group_reads)
        self._new.append(file)
        return file

    def close(self, timeout: float = 10.0) -> None:
        """Write what waits and end the thread."""
        self._stop.set()
        self._thread.join(timeout)

    # --- on the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        open_: list[_Open] = []
        stopping = False
        while not stopping:
            stopping = self._stop.wait(self._interval)
            open_ += [_Open(self._new.popleft()) for _ in range(len(self._new))]
            open_ = [each for each in open_ if each.round(stopping)]


class _Open:
    """The thread's side of one journal; it holds no file open between writes."""

    def __init__(self, journal: JournalFile) -> None:
        self._journal = journal
        self._path: Path | None = None

    def round(self, stopping: bool) -> bool:
        """Write what waits; False when there is nothing more to come."""
        journal = self._journal
        over = journal.closed or stopping
        try:
            self._write()
        except BaseException as error:  # fence: one journal must not end those of the others
            journal.closed = over = True
            journal.waiting.clear()
            journal.told(f"{journal.path}: {error}")
        return not over

    def _write(self) -> None:
        journal = self._journal
        waiting = journal.waiting
        records = [encode(journal.prepare(waiting.popleft())) for _ in range(len(waiting))]
        data = b""
        if self._path is None:
            self._path = _made(journal.path, journal.group_reads)
            data = MAGIC
            records.insert(0, encode(journal.header))
        if records:
            data += packed(records)
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        with open(handle, "wb") as file:
            file.write(data)


def _made(path: Path, group_reads: bool) -> Path:
    """Make a file that was not there: another process may have taken the name."""
    private.make_folder(path.parent, group_reads)
    for chosen in names(path):
        with suppress(FileExistsError):
            os.close(private.open_file(chosen, os.O_WRONLY | os.O_EXCL, group_reads))
            return chosen
    raise AssertionError("names do not end")
