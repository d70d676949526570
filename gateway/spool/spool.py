"""Events that wait for another system, on the disk.

Each call's events have an order, and only the first of a call may leave. A process that is killed
leaves what waits to the next one.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from dataclasses import dataclass
from pathlib import Path

from media import private

SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
  place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, call TEXT NOT NULL,
  body BLOB NOT NULL, made REAL NOT NULL, tries INTEGER NOT NULL DEFAULT 0,
  due REAL NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS of_call ON events (call, place);
"""

PATIENCE = 2.0
"""Seconds that another process may hold the file."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The first event of a call that has not gone yet."""

    place: int
    id: str
    body: bytes
    made: float
    "wall clock"
    tries: int


class Spool:
    """One connection to the file; used by one thread."""

    def __init__(self, path: Path) -> None:
        """Open it, made for its owner alone where it is missing; raises OSError, sqlite3.Error."""
        private.make_folder(path.parent)
        os.close(private.open_file(path, os.O_RDWR))
        self._file = sqlite3.connect(
            path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        self._file.execute("PRAGMA journal_mode=WAL")
        # What is committed outlives the process; only a machine that goes down may lose the last.
        self._file.execute("PRAGMA synchronous=NORMAL")
        self._file.executescript(SCHEMA)

    def push(self, call: str, body: bytes, made: float) -> None:
        """Keep an event behind those of its call; what concerns no call waits for nobody."""
        identity = f"msg_{uuid.uuid4().hex}"
        self._file.execute(
            "INSERT INTO events (id, call, body, made) VALUES (?, ?, ?, ?)",
            (identity, call or identity, body, made),
        )

    def count(self) -> int:
        """Return how many wait."""
        return int(self._file.execute("SELECT count(*) FROM events").fetchone()[0])

    def due(self, wall: float, most: int) -> list[Waiting]:
        """Return the first events of calls that may be tried now, the oldest first."""
        rows = self._file.execute(
            "SELECT place, id, body, made, tries FROM events WHERE due <= ? AND place IN "
            "(SELECT min(place) FROM events GROUP BY call) ORDER BY place LIMIT ?",
            (wall, most),
        )
        return [Waiting(*row) for row in rows]

    def done(self, place: int) -> None:
        """Forget an event that was taken, or that nobody can take any more."""
        self._file.execute("DELETE FROM events WHERE place = ?", (place,))

    def later(self, place: int, due: float) -> None:
        """Try an event again, not before `due`."""
        self._file.execute(
            "UPDATE events SET tries = tries + 1, due = ? WHERE place = ?", (due, place)
        )

    def close(self) -> None:
        """Let the file go."""
        self._file.close()
