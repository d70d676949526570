"""Takes events of calls from the log's thread to the disk.

An event is on the disk when its line is in the log. It leaves the disk when somebody else has it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import msgspec
import structlog

from gateway.log_events import LogEvent, fields_of, name_of
from gateway.observe.cutting import Cutting
from gateway.observe.journal import timestamp
from gateway.observe.privacy import Privacy
from gateway.observe.vocabulary import marks
from gateway.plumbing.wire_json import plain
from gateway.spool.spool import Spool

KEPT = 1000
"""Events in memory while the disk takes none."""

log = structlog.get_logger("spool")


class Chosen(Protocol):
    """What the operator decides about events that wait."""

    @property
    def events(self) -> tuple[str, ...]:
        """Lines of the call log that are taken."""

    @property
    def mask(self) -> Literal["none", "partial", "full"]:
        """What is personal in them, as for the log."""

    @property
    def spool_most(self) -> int:
        """How many may wait on the disk."""


@dataclass(slots=True)
class Counts:
    """What became of events; to look at."""

    waiting: int = 0
    taken: int = 0
    failures: int = 0
    dropped: int = 0


class Intake:
    """The log's end of a spool; `counts` is shared with whoever empties it."""

    def __init__(self, chosen: Chosen, path: Path, secrets: Iterable[str] = ()) -> None:
        """Open the spool; raises OSError, sqlite3.Error."""
        self.counts = Counts()
        self.idle = threading.Event()
        "set while nothing waits that could go"
        self._chosen = chosen
        self._privacy = Privacy(chosen.mask, secrets)
        self._spool = Spool(path)
        self._kept: deque[tuple[str, bytes, float]] = deque()
        self.counts.waiting = self._spool.count()

    def take(self, call: str, wall: float, at: float, event: LogEvent) -> bool:
        """Keep an event that is wanted; say whether one waits because of it."""
        name = name_of(event)
        if name not in self._chosen.events:
            return False
        if self.counts.waiting + len(self._kept) >= self._chosen.spool_most:
            self.counts.dropped += 1
            return False
        fields = self._privacy.clean(Cutting().line(fields_of(event)), marks(type(event)))
        document = {
            "type": name,
            "timestamp": timestamp(wall),
            "call": call,
            "at": round(at, 3),
            "data": fields,
        }
        self._kept.append((call, msgspec.json.encode(document, enc_hook=plain), wall))
        while len(self._kept) > KEPT:
            self._kept.popleft()
            self.counts.dropped += 1
        try:
            while self._kept:
                self._spool.push(*self._kept[0])
                self._kept.popleft()
                self.counts.waiting += 1
        except sqlite3.Error as error:
            log.warning("event_not_spooled", reason=str(error), kept=len(self._kept))
        self.idle.clear()
        return True

    def close(self) -> None:
        """Let the file go."""
        self._spool.close()
