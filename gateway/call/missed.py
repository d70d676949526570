"""Writes down the calls that never came to be: of a flood some, and their sum once it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from gateway.call.refusals import Missed, Refusals


class MissedCalls:
    """One for the process; a sum is told by a timer of its own."""

    def __init__(self, write: Callable[[Missed], None]) -> None:
        self._write = write
        self._refusals = Refusals()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def counted(self) -> Mapping[str, int]:
        """All of them, by cause."""
        return self._refusals.counted

    def take(self, call: Missed) -> None:
        """Write a call down, now or with others."""
        loop = asyncio.get_running_loop()
        for told in self._refusals.take(call, loop.time()):
            self._write(told)
        if self._timer is None and self._refusals.deadline is not None:
            self._timer = loop.call_at(self._refusals.deadline, self._sum_up)

    def _sum_up(self) -> None:
        self._timer = None
        for told in self._refusals.time_passed(asyncio.get_running_loop().time()):
            self._write(told)
