"""The index of the call log: one row a call, the words said, and figures by hour; in SQLite.

Several processes may keep one index: each reads the log by itself, and what one has counted no
other counts again.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gateway.archive.records import CallRecord
from gateway.archive.spread import bucket
from media import private

VERSION = 1
"""Of the tables; an index of another version is made anew from the log."""

TABLES = """
create table if not exists files (
  id text primary key, counted integer not null, resume integer not null);
create table if not exists calls (
  number integer primary key, call text not null unique, began text not null, line text not null,
  agent text not null, caller text not null, callee text not null, direction text not null,
  recording text not null, over integer not null, ended_by text not null, reason text not null,
  seconds real not null, response_median real, response_max real, turns integer not null,
  cut_ins integer not null, faults integer not null, tools integer not null,
  begin_file text not null, begin_at integer not null, end_file text not null,
  end_at integer not null, counted integer not null default 0);
create index if not exists calls_began on calls (began);
create index if not exists calls_file on calls (begin_file);
create index if not exists calls_line on calls (line);
create index if not exists calls_agent on calls (agent);
create virtual table if not exists words using fts5 (
  said, tokenize = "unicode61 remove_diacritics 2");
create table if not exists counts (
  hour text not null, line text not null, agent text not null, what text not null,
  count integer not null, primary key (hour, line, agent, what)) without rowid;
create table if not exists spreads (
  hour text not null, line text not null, agent text not null, what text not null,
  bucket integer not null, count integer not null,
  primary key (hour, line, agent, what, bucket)) without rowid;
"""

COLUMNS = (
    "call", "began", "line", "agent", "caller", "callee", "direction", "recording", "over",
    "ended_by", "reason", "seconds", "response_median", "response_max", "turns", "cut_ins",
    "faults", "tools", "begin_file", "begin_at", "end_file", "end_at",
)  # fmt: skip

PUT = (
    f"insert into calls ({', '.join(COLUMNS)}) values ({', '.join('?' * len(COLUMNS))}) "
    "on conflict (call) do update set "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[1:])
    + " returning number, counted"
)

BUSY_SECONDS = 10.0
"""How long another process's writing is waited for."""


@dataclass(slots=True)
class Tally:
    """What is added to the figures by hour."""

    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    "by hour, line, agent, and what is counted"
    spreads: Counter[tuple[str, str, str, str, int]] = field(default_factory=Counter)

    def call(self, record: CallRecord) -> None:
        """Take a call that is over."""
        started, ended = record.started, record.ended
        place = (
            record.began[:13],
            started.line if started else "",
            started.agent if started else "",
        )
        self.counts[(*place, "calls")] += 1
        self.counts[(*place, f"ended:{ended.ended_by if ended else ''}")] += 1
        for what, count in record.figures.items():
            if count:
                self.counts[(*place, what)] += count
        for what, values in record.measured.items():
            for value in values:
                self.spreads[(*place, what, bucket(value))] += 1


class Store:
    """The database; lives on one thread."""

    def __init__(self, path: Path) -> None:
        """Open or make it; raise OSError or sqlite3.Error where that cannot be done."""
        self.base = _opened(path)
        row = self.base.execute("pragma user_version").fetchone()
        if row[0] != VERSION:
            self.base.close()
            for each in (
                path,
                path.with_name(f"{path.name}-wal"),
                path.with_name(f"{path.name}-shm"),
            ):
                each.unlink(missing_ok=True)
            self.base = _opened(path)
            self.base.execute(f"pragma user_version = {VERSION}")
        self.base.executescript(TABLES)

    def close(self) -> None:
        """Let it go."""
        self.base.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write all or nothing; another process waits meanwhile."""
        self.base.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.base.execute("rollback")
            raise
        self.base.execute("commit")

    def files(self) -> Mapping[str, tuple[int, int]]:
        """Return up to where each file is counted, and from where it must be read again."""
        rows = self.base.execute("select id, counted, resume from files")
        return {name: (counted, resume) for name, counted, resume in rows}

    def place(self, file: str, counted: int, resume: int) -> None:
        """Remember where reading goes on after a start."""
        self.base.execute(
            "insert into files values (?, ?, ?) on conflict (id) do update set "
            "counted = max(counted, excluded.counted), resume = excluded.resume",
            (file, counted, resume),
        )

    def put(self, records: Iterable[CallRecord], tally: Tally) -> None:
        """Write calls as they are now; those that are over are counted, once."""
        for record in records:
            number, counted = self.base.execute(PUT, _row(record)).fetchone()
            if not record.over or counted:
                continue
            self.base.execute("update calls set counted = 1 where number = ?", (number,))
            self.base.execute(
                "insert or replace into words (rowid, said) values (?, ?)",
                (number, "\n".join(record.words)),
            )
            tally.call(record)

    def add(self, tally: Tally) -> None:
        """Add to the figures by hour."""
        self.base.executemany(
            "insert into counts values (?, ?, ?, ?, ?) on conflict do update set "
            "count = count + excluded.count",
            [(*key, count) for key, count in tally.counts.items()],
        )
        self.base.executemany(
            "insert into spreads values (?, ?, ?, ?, ?, ?) on conflict do update set "
            "count = count + excluded.count",
            [(*key, count) for key, count in tally.spreads.items()],
        )

    def forget(self, there: Iterable[str]) -> None:
        """Remove the calls of files that are gone; the figures, which name nobody, stay."""
        gone = json.dumps(sorted(set(self.files()) - set(there)))
        within = "begin_file in (select value from json_each(?))"
        self.base.execute(
            f"delete from words where rowid in (select number from calls where {within})", (gone,)
        )
        self.base.execute(f"delete from calls where {within}", (gone,))
        self.base.execute("delete from files where id in (select value from json_each(?))", (gone,))

    def wipe(self) -> None:
        """Let nothing of what was forgotten stay on the disk."""
        self.base.execute("insert into words (words) values ('optimize')")
        self.base.execute("pragma wal_checkpoint(truncate)")

    def is_over(self, call: str) -> bool:
        """Return whether a call is known to its end."""
        row = self.base.execute("select over from calls where call = ?", (call,)).fetchone()
        return row is not None and bool(row[0])


def _row(record: CallRecord) -> tuple[object, ...]:
    figures, started, ended = record.figures, record.started, record.ended
    assert started is not None  # a call whose beginning was not read has no record
    return (
        record.call, record.began, started.line, started.agent, started.caller, started.callee,
        started.direction, started.recording or "", record.over, ended.ended_by if ended else "",
        ended.reason if ended else "", record.seconds, record.response_median, record.response_max,
        figures["turns"], figures["cut_ins"], figures["faults"], figures["tools"],
        record.begin.file, record.begin.offset, record.end.file, record.end.offset,
    )  # fmt: skip


def _opened(path: Path) -> sqlite3.Connection:
    private.make_folder(path.parent)
    os.close(private.open_file(path, os.O_RDWR))  # what callers said is for its owner alone
    base = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    base.execute("pragma journal_mode = wal")
    # It is made of the log: what a power cut takes is read again.
    base.execute("pragma synchronous = off")
    base.execute("pragma secure_delete = on")
    return base
