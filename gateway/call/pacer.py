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


BUSY = 8
"""Legs from which on the loop is busy: eight callers' packets wake it 400 times a second, more
often than it wakes by itself when it rests."""

RESTS = {BUSY: 5, 32: 1}
"""Times within a frame that a loop with so many legs looks at its sockets and at what its models
answered. What it does in one go costs less, since code and data stay in the core's cache: with 50
legs, looking twice instead of five times costs a quarter less, and once a sixth less again; the
price is 8 ms of delay on average."""


PASSES = 2
"""Times the loop goes round before it rests: what it read leads to more (windows that are judged,
tasks that wake), which would otherwise wait for the next moment."""


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
    """Ticks on an absolute schedule; never sleeps relative to when it last woke.

    With many legs it also paces the loop itself. Every packet that is waited for wakes the loop,
    and waking costs more than what there is to do for one packet: so a busy loop sleeps, on the
    schedule, and then does in one go what has come meanwhile. A packet is taken up to 4 ms later
    for that, 20 ms with very many legs, and what is sent leaves no later.
    """

    def __init__(self, sleep: Callable[[float], None] | None = None) -> None:
        """Pace; `sleep` blocks the thread for so many seconds, and without it there is no rest."""
        self._paced: dict[Paced, None] = {}
        self._senders: dict[Sender, None] = {}
        self._sleep = sleep
        self._resting = False
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
        self._sleep = None
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
            return  # what came meanwhile is read first, before anybody is found to be silent
        self._arm(loop)
        for sender in tuple(self._senders):
            sender.send_due(now)
        for paced in tuple(self._paced):
            paced.tick(now)
        if self._sleep is not None and not self._resting and len(self._paced) >= BUSY:
            self._resting = True
            loop.call_soon(self._rest, loop, PASSES)

    def _rest(self, loop: asyncio.AbstractEventLoop, passes: int) -> None:
        """Sleep until the next moment of the schedule; what came meanwhile is handled after this.

        There is always the next rest to come, so that the loop looks at its sockets without
        waiting. Where the moment is a tick's, what is due leaves before anything is read.
        """
        if self._sleep is None or self._handle is None or len(self._paced) < BUSY:
            self._resting = False
            return
        if passes:
            loop.call_soon(self._rest, loop, passes - 1)
            return
        rests = next(RESTS[legs] for legs in reversed(RESTS) if len(self._paced) >= legs)
        step = FRAME_SECONDS / rests
        since = loop.time() - self._start
        # What is within a thousandth of a moment is that moment, come a rounding early.
        moment = min(int(since / step + 0.001) + 1, self._ticks * rests)
        self._sleep(max(0.0, moment * step - since))
        if moment == self._ticks * rests:
            self._handle.cancel()
            self._tick(loop, self._start + self._ticks * FRAME_SECONDS)
        loop.call_soon(self._rest, loop, PASSES)
