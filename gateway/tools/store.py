"""Where an agent's tools keep what they write, and the ledger that lets a write happen once.

One SQLite file; a connection for each piece of work, so that threads and processes may share it.
All of this blocks: it belongs in a thread.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gateway.events import Json
from gateway.tools.context import Uncertain
from media import private

T = TypeVar("T")

BUSY_SECONDS = 5.0
"""How long one writer waits for another; a write takes milliseconds."""

_SCHEMA = """
create table if not exists parley_ledger (
    key text primary key,
    call text not null,
    name text not null,
    arguments text not null,
    state text not null check (state in ('begun', 'done')),
    result text not null,
    at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
)
"""


@dataclass(frozen=True, slots=True)
class OpenDeed:
    """A write that was begun and of which no end is known."""

    key: str
    call: str
    name: str
    arguments: Json
    at: str
    "when it was begun: RFC 3339, UTC"


class Store:
    """An SQLite file with the ledger of writes in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Look something up; what `work` changes is undone."""
        with self._transaction() as connection:
            result = work(connection)
            connection.rollback()
        return result

    def once(
        self,
        key: str,
        call: str,
        name: str,
        arguments: Json,
        work: Callable[[sqlite3.Connection], Json],
    ) -> Json:
        """Do a write and enter it into the ledger in one transaction: both happen, or neither.

        A key that was done before gives the result it had then, marked as repeated.
        """
        with self._transaction() as connection:
            known = _find(connection, key)
            if known is not None:
                return {**known, "repeated": True}
            result = work(connection)
            connection.execute(
                "insert into parley_ledger (key, call, name, arguments, state, result)"
                " values (?, ?, ?, ?, 'done', ?)",
                (key, call, name, _text(arguments), _text(result)),
            )
        return result

    def begin(self, key: str, call: str, name: str, arguments: Json) -> Json | None:
        """Enter a write that happens elsewhere; give its result when it was done before.

        Raise ToolFailed when it was begun before and nobody knows how it ended.
        """
        with self._transaction() as connection:
            known = _find(connection, key)
            if known is None:
                connection.execute(
                    "insert into parley_ledger (key, call, name, arguments, state, result)"
                    " values (?, ?, ?, ?, 'begun', '{}')",
                    (key, call, name, _text(arguments)),
                )
        return None if known is None else {**known, "repeated": True}

    def finish(self, key: str, result: Json) -> None:
        """Enter the result of a write that was begun."""
        with self._transaction() as connection:
            connection.execute(
                "update parley_ledger set state = 'done', result = ? where key = ?",
                (_text(result), key),
            )

    def release(self, key: str) -> None:
        """Take back the entry of a write that certainly did not happen."""
        with self._transaction() as connection:
            connection.execute(
                "delete from parley_ledger where key = ? and state = 'begun'", (key,)
            )

    def open_deeds(self) -> list[OpenDeed]:
        """List the writes that were begun and of which no end is known, oldest first."""
        if not self.path.exists():
            return []
        with self._transaction() as connection:
            rows = connection.execute(
                "select key, call, name, arguments, at from parley_ledger"
                " where state = 'begun' order by at"
            ).fetchall()
            connection.rollback()
        return [
            OpenDeed(row["key"], row["call"], row["name"], json.loads(row["arguments"]), row["at"])
            for row in rows
        ]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if not self.path.exists():  # SQLite would let everybody read it
            private.make_folder(self.path.parent)
            os.close(private.open_file(self.path, os.O_RDWR))
        with closing(sqlite3.connect(self.path, BUSY_SECONDS, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            _write_ahead(connection)
            connection.execute("begin immediate")
            try:
                connection.execute(_SCHEMA)
                yield connection
            except BaseException:  # fence: whatever happened, half a write must not stay
                connection.rollback()
                raise
            if connection.in_transaction:
                connection.commit()


def stores(folder: Path) -> list[Path]:
    """List the files of a folder that are SQLite's, whatever they are called."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file():
            with path.open("rb") as file:
                if file.read(16) == b"SQLite format 3\0":
                    found.append(path)
    return found


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and one writer work at once; the file remembers it after the first time.

    Changing the mode does not wait for other connections as everything else does (SQLite,
    `sqlite3_busy_timeout`), so two that open a new file at the same moment need this.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.005)


def _find(connection: sqlite3.Connection, key: str) -> Json | None:
    query = "select state, result from parley_ledger where key = ?"
    row = connection.execute(query, (key,)).fetchone()
    if row is None:
        return None
    if row["state"] == "begun":
        raise Uncertain("This was begun before, and it is not known how it ended.")
    result = json.loads(row["result"])
    assert isinstance(result, dict)
    return result


def _text(data: Json) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)
