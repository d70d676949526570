"""The one clock that paces every leg of the process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from media.frame import FRAME_SECONDS

SKIP_AFTER = 0.5
"""When the process stood still for longer than this (suspended, stopped in a debugger), ticks are
skipped instead of being made up for in one burst."""


class Paced(Protocol):
    """Something that acts every 20 ms."""

    def tick(self, now: float) -> None:
        """Do what is due; must return in well under a millisecond."""


@dataclass(slots=True)
class Lateness:
    """How late the ticks came."""

    ticks: int = 0
    over_5_ms: int = 0
    worst: float = 0.0

    def note(self, late: float) -> None:
        """Count one tick."""
        self.ticks += 1
        if late > 0.005:
            self.over_5_ms += 1
        if late > self.worst:
            self.worst = late


@runtime_checkable
class Sender(Protocol):
    """Something paced that sends: all of these send before anyone does the rest of a tick."""

    def send_due(self, now: float) -> None:
        """Put on the wire what is due."""


class Pacer:
    """Ticks on an absolute schedule; never sleeps relative to when it last woke."""

    def __init__(self, after_tick: Callable[[float], None] | None = None) -> None:
        self._paced: dict[Paced, None] = {}
        self._senders: dict[Sender, None] = {}
        self._after = after_tick
        self._handle: asyncio.TimerHandle | None = None
        self._start = 0.0
        self._ticks = 0
        self.lateness = Lateness()
        self.recent: deque[float] = deque(maxlen=250)
        "lateness of the last five seconds' ticks, seconds; admission looks at it"

    def start(self) -> None:
        """Begin to tick on the running loop."""
        loop = asyncio.get_running_loop()
        self._start, self._ticks = loop.time(), 0
        self._arm(loop)

    def stop(self) -> None:
        """Tick no more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def add(self, paced: Paced) -> None:
        """Pace this too, from the next tick on."""
        self._paced[paced] = None
        if isinstance(paced, Sender):
            self._senders[paced] = None

    def remove(self, paced: Paced) -> None:
        """Stop pacing this."""
        self._paced.pop(paced, None)
        if isinstance(paced, Sender):
            self._senders.pop(paced, None)

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ticks += 1
        due = self._start + self._ticks * FRAME_SECONDS
        self._handle = loop.call_at(due, self._tick, loop, due)

    def _tick(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        now = loop.time()
        late = max(0.0, now - due)
        self.lateness.note(late)
        self.recent.append(late)
        if late > SKIP_AFTER:
            self._start, self._ticks = now, 0
        self._arm(loop)
        for sender in tuple(self._senders):
            sender.send_due(now)
        for paced in tuple(self._paced):
            paced.tick(now)
        if self._after is not None:
            self._after(now)
