"""Notices that the loop stands still, for how long, and in whose code.

A thread looks at when the loop last came round. While it does not, the thread takes the stack of
the loop's thread, and tells of it once the loop goes on, or after seconds if it does not.
Where the thread itself was held up there are two cases, told apart by the processor time that was
used meanwhile: code that keeps the interpreter to itself, in whichever thread, and a process that
was not run at all.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import structlog

from gateway.log_events import LogEvent, LoopStoodLogged
from gateway.process.stacks import stacks
from gateway.process.threads import at_work, by_thread
from gateway.tools.threads import greedy_since

BEAT_SECONDS = 0.1
"""How often the loop says that it comes round, and how often that is looked at."""

STOOD_SECONDS = 0.25
"""What is told. Callers hear a gap of two frames; a busy machine makes small ones by itself."""

LONG_SECONDS = 5.0
"""After so long it is told that the loop stands, and not only that it stood."""

IDLE_SHARE = 0.05
"""Processor time, as a share of the gap, under which the process was not run: it was stopped,
the machine slept, or others had the processor."""

LOOKS = 10
"""Looks for one at what each thread has used: that costs a file of the system's for each."""

Kind = Literal["blocked", "interpreter", "stopped"]

log = structlog.get_logger("watchdog")


class Story(Protocol):
    """Where the process's own lines go."""

    def write(self, event: LogEvent) -> None:
        """Write one line, without waiting."""


@dataclass(frozen=True, slots=True)
class Stood:
    """The loop stood still once."""

    kind: Kind
    "in code on the loop, in code that kept the interpreter, or since the process did not run"
    seconds: float
    at: float
    "wall clock, when it was over"
    stacks: dict[str, list[str]]
    """by thread, the innermost call last: the loop's own, or all that were at work, and empty for
    one that was and has gone on since"""


class Watchdog:
    """Watches one loop from a thread of its own."""

    def __init__(
        self, story: Story | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.times = 0
        "how often the loop stood"
        self.longest = 0.0
        self.last: Stood | None = None
        self._clock = clock
        self._beat = clock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop_thread = threading.current_thread().name
        self._story = story
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Watch the running loop, whose thread this is, until `stop`."""
        self._loop_thread = threading.current_thread().name
        self._come_round(asyncio.get_running_loop())
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._over.set()
        if self._handle is not None:
            self._handle.cancel()
        if self._thread is not None:
            self._thread.join(2 * BEAT_SECONDS)

    def figures(self) -> dict[str, object]:
        """Return what is known, for whoever watches the process."""
        last = self.last
        told: dict[str, object] = {"stood": self.times, "longest": round(self.longest, 3)}
        if last is not None:
            ago = round(time.time() - last.at, 1)
            told["last"] = {
                "kind": last.kind,
                "seconds": round(last.seconds, 3),
                "ago": ago,
                "stacks": last.stacks,
            }
        return told

    def _come_round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._beat = self._clock()
        self._handle = loop.call_later(BEAT_SECONDS, self._come_round, loop)

    # --- on its own thread -----------------------------------------------------------------------

    def _watch(self) -> None:
        slept, used, had, looks = self._clock(), time.process_time(), by_thread(), 0
        while not self._over.wait(BEAT_SECONDS):
            now, spent = self._clock(), time.process_time()
            overslept = now - slept - BEAT_SECONDS
            if overslept >= STOOD_SECONDS:
                if spent - used < IDLE_SHARE * overslept:
                    self._tell(Stood("stopped", overslept, 0.0, {}))
                else:
                    self._tell(Stood("interpreter", overslept, 0.0, self._blamed(had, overslept)))
                self._beat = max(self._beat, now)  # it is told of
            elif now - self._beat >= STOOD_SECONDS:
                self._stands(self._beat)
            looks += 1
            if looks % LOOKS == 0 or overslept >= STOOD_SECONDS:
                had = by_thread()
            slept, used = self._clock(), time.process_time()

    def _blamed(self, had: dict[int, tuple[str, float]], gap: float) -> dict[str, list[str]]:
        """Return the threads that worked in a gap that has just ended, and may have ended too.

        In this order: whoever is alive no more at the first is known at the last.
        """
        alive = stacks(busy=True)
        used = at_work(had, gap / 2)
        ended = greedy_since(self._clock() - gap - BEAT_SECONDS)
        return {**{each: [] for each in (*used, *ended)}, **alive}

    def _stands(self, since: float) -> None:
        """Wait until the loop goes on, and tell of it."""
        where = {self._loop_thread: stacks().get(self._loop_thread, [])}
        said = False
        while self._beat == since and not self._over.wait(BEAT_SECONDS / 5):
            if not said and self._clock() - since > LONG_SECONDS:
                said = True
                log.error("loop_stands", seconds=LONG_SECONDS, stacks=where)
        self._tell(Stood("blocked", self._clock() - since, 0.0, where))

    def _tell(self, stood: Stood) -> None:
        stood = Stood(stood.kind, stood.seconds, time.time(), stood.stacks)
        self.times += 1
        self.longest = max(self.longest, stood.seconds)
        self.last = stood
        seconds = round(stood.seconds, 3)
        log.warning("loop_stood", kind=stood.kind, seconds=seconds, stacks=stood.stacks)
        if self._story is not None:
            self._story.write(
                LoopStoodLogged(kind=stood.kind, seconds=seconds, stacks=stood.stacks)
            )
