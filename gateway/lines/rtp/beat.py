"""A clock of 20 ms for the few legs that no call of the gateway paces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from media.frame import FRAME_SECONDS


class Beat:
    """Calls what it was given every 20 ms, on an absolute schedule; stands still when empty."""

    def __init__(self) -> None:
        self._ticked: dict[Callable[[], None], None] = {}
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def add(self, tick: Callable[[], None]) -> None:
        """Tick this too."""
        self._ticked[tick] = None
        if self._timer is None:
            self._due = self._loop.time()
            self._arm()

    def remove(self, tick: Callable[[], None]) -> None:
        """Tick this no more."""
        self._ticked.pop(tick, None)

    def stop(self) -> None:
        """Tick nothing any more."""
        self._ticked.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        # After a stall the schedule begins anew; the streams themselves make up for what is due.
        self._due = max(self._due + FRAME_SECONDS, self._loop.time() - FRAME_SECONDS)
        self._timer = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        self._timer = None
        for tick in tuple(self._ticked):
            tick()
        if self._ticked:
            self._arm()
