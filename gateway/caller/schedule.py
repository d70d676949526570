"""A caller's own clock: it begins when the call is answered, and ticks every 20 ms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from media.frame import FRAME_SECONDS


class Schedule:
    """Ticks at `n * 0.02` seconds after its start; a late tick makes none of the others late."""

    def __init__(self) -> None:
        self.ticks = 0
        self.lateness: list[float] = []
        "of each tick, seconds"
        self._loop = asyncio.get_running_loop()
        self._origin: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tick: Callable[[], None] | None = None

    def start(self, tick: Callable[[], None]) -> None:
        """Begin now; the first tick comes after 20 ms."""
        self._origin = self._loop.time()
        self._tick = tick
        self._arm()

    def stop(self) -> None:
        """Tick no more."""
        self._tick = None
        if self._timer is not None:
            self._timer.cancel()

    @property
    def now(self) -> float:
        """Seconds since the start; 0 before."""
        return 0.0 if self._origin is None else self._loop.time() - self._origin

    def call_at(self, when: float, call: Callable[[], None]) -> None:
        """Call back at a time of this clock."""
        self._loop.call_at((self._origin or 0.0) + when, call)

    def _arm(self) -> None:
        self.ticks += 1
        assert self._origin is not None, "started"
        self._timer = self._loop.call_at(self._origin + self.ticks * FRAME_SECONDS, self._wake)

    def _wake(self) -> None:
        if self._tick is None:
            return
        self.lateness.append(self.now - self.ticks * FRAME_SECONDS)
        self._tick()
        if self._tick is not None:
            self._arm()
