"""Reads the call log into the index, a slice at a time, and finds a call's lines in it again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gateway.archive.records import CallRecord, Place
from gateway.archive.store import Store, Tally
from gateway.log_events import (
    CallFailedLogged,
    CallRefusedLogged,
    CallStartedLogged,
    LogEvent,
    UsageLogged,
)
from gateway.observe.files import all_files

SLICE = 2_000_000
"""Bytes read into the index at once: some tens of milliseconds, after which questions come in."""

BEYOND = 100_000
"""Bytes after a call's last line in which what still ran is looked for."""

LONGEST_LINE = 1 << 20


class _Head(msgspec.Struct):
    ts: str
    call: str
    at: float


_HEAD = msgspec.json.Decoder(_Head)
_EVENT: msgspec.json.Decoder[LogEvent] = msgspec.json.Decoder(LogEvent)


@dataclass(slots=True)
class _File:
    """One file of the log."""

    id: str
    path: Path
    size: int
    read: int
    "bytes that are in the index"


class Reading:
    """Follows a log; knows which calls are in progress."""

    def __init__(self, log: Path, store: Store) -> None:
        self._log = log
        self._store = store
        self._open: dict[str, CallRecord] = {}
        self._read: dict[str, int] = {}
        self.version = 0
        "goes up with every line"

    @property
    def behind(self) -> int:
        """How many bytes of the log are not in the index."""
        return sum(file.size - file.read for file in self._files())

    def read(self) -> bool:
        """Take the next slice in; say whether there was anything to take."""
        files = self._files()
        self._settle(files)
        for number, file in enumerate(files):
            if file.size > file.read and self._slice(file, files[: number + 1]):
                return True
        return False

    def lines(self, call: str, begin: Place, end: Place) -> Iterator[bytes]:
        """Return a call's lines, as they are written."""
        files = {file.id: file for file in self._files()}
        order = list(files)
        if begin.file not in files:
            return
        first = order.index(begin.file)
        last = order.index(end.file) if end.file in files else len(order) - 1
        # A name may hold what JSON writes in another way.
        wanted = b'"call":' + msgspec.json.encode(call)
        for number, name in enumerate(order[first : last + 2]):
            start = begin.offset if number == 0 else 0
            stop = end.offset + BEYOND if name == end.file else None
            if first + number > last:
                stop = BEYOND
            yield from _lines(files[name].path, start, stop, wanted)

    # --- inside ------------------------------------------------------------------------------

    def _files(self) -> list[_File]:
        known = self._store.files()
        found: list[_File] = []
        for path in all_files(self._log):
            try:
                size = path.stat().st_size
                if not (name := _name(path)):
                    continue
            except OSError:  # renamed just now: next time it is found under its new name
                continue
            read = self._read.get(name)
            if read is None:
                read = self._read[name] = known.get(name, (0, 0))[1]
            found.append(_File(name, path, size, read))
        return found

    def _settle(self, files: list[_File]) -> None:
        there = {file.id for file in files}
        if not set(self._store.files()) <= there:
            with self._store.writing():
                self._store.forget(there)
            self._store.wipe()
            self._read = {name: at for name, at in self._read.items() if name in there}
            self._open = {n: one for n, one in self._open.items() if one.begin.file in there}
            self.version += 1

    def _slice(self, file: _File, files: list[_File]) -> bool:
        with file.path.open("rb") as opened:
            if _name(file.path) != file.id:
                return False
            opened.seek(file.read)
            text = opened.read(SLICE)
        whole = text.rfind(b"\n") + 1
        if not whole:
            if len(text) < SLICE:
                return False
            whole = len(text)  # no line is so long: it is skipped
        changed: dict[str, CallRecord] = {}
        tally = Tally()
        with self._store.writing():
            counted = self._store.files().get(file.id, (0, 0))[0]
            at = file.read
            for raw in text[:whole].split(b"\n"):
                begin, at = at, at + len(raw) + 1
                if raw:
                    self._line(raw, Place(file.id, begin), changed, tally, begin >= counted)
            self._read[file.id] = file.read + whole
            self._store.put(changed.values(), tally)
            self._store.add(tally)
            self._note(files)
        self.version += 1
        return True

    def _line(
        self, raw: bytes, place: Place, changed: dict[str, CallRecord], tally: Tally, new: bool
    ) -> None:
        try:
            head = _HEAD.decode(raw)
            event = _EVENT.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return  # another version's, or another program's
        if not head.call:
            if new:
                _count(head.ts, event, tally)
            return
        record = self._open.get(head.call)
        if isinstance(event, CallStartedLogged) and record is None:
            if self._store.is_over(head.call):
                return  # known to its end, and read again for another's sake
            record = self._open[head.call] = CallRecord(head.call, place, place)
        if record is None:
            return
        record.take(head.ts, head.at, event)
        record.end = place
        if isinstance(event, UsageLogged):
            record.spent(msgspec.json.decode(raw))
        changed[head.call] = record
        if record.over:
            del self._open[head.call]

    def _note(self, files: list[_File]) -> None:
        """Remember where to begin after a start: with the first call that is in progress."""
        begins = {record.begin.file: 1 << 62 for record in self._open.values()}
        for record in self._open.values():
            begins[record.begin.file] = min(begins[record.begin.file], record.begin.offset)
        earlier = False
        for file in files:
            read = self._read[file.id]
            resume = 0 if earlier else min(read, begins.get(file.id, read))
            earlier = earlier or file.id in begins
            self._store.place(file.id, read, resume)


def _count(ts: str, event: LogEvent, tally: Tally) -> None:
    """Count what has no call."""
    match event:
        case CallRefusedLogged(line=line, agent=agent, cause=cause, count=count):
            tally.counts[(ts[:13], line, agent or "", f"refused:{cause}")] += count or 1
        case CallFailedLogged(line=line, agent=agent, outcome=outcome):
            tally.counts[(ts[:13], line, agent, f"failed:{outcome}")] += 1
        case _:
            pass


def _name(path: Path) -> str:
    """Name a file by its first line, which it keeps when it is renamed; empty: it has none yet."""
    with path.open("rb") as file:
        first = file.readline(LONGEST_LINE)
    return hashlib.blake2b(first, digest_size=12).hexdigest() if first.endswith(b"\n") else ""


def _lines(path: Path, start: int, stop: int | None, wanted: bytes) -> Iterator[bytes]:
    """Return the lines that hold `wanted` and begin between two places."""
    with path.open("rb") as file:
        file.seek(start)
        text = file.read() if stop is None else file.read(max(0, stop - start))
    at = text.find(wanted)
    while at >= 0:
        begin = text.rfind(b"\n", 0, at) + 1
        end = text.find(b"\n", at)
        if end < 0:
            return
        yield text[begin:end]
        at = text.find(wanted, end)
