"""The slow work of one call: its tools, its lines, all in the call's own group."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Literal

Kind = Literal["tool", "line", "hearing"]


class Tasks:
    """Starts, cancels and winds up a call's tasks; decides nothing."""

    def __init__(self, finish_seconds: float) -> None:
        self.group: asyncio.TaskGroup | None = None
        self._finish_seconds = finish_seconds
        self._running: dict[str, tuple[Kind, asyncio.Task[None]]] = {}
        self._winding_up = False

    def spawn(self, work: Coroutine[None, None, None], key: str, kind: Kind) -> None:
        """Run `work` under a key by which it can be cancelled."""
        if self.group is None or (self._winding_up and kind != "tool"):
            work.close()
            return
        task = self.group.create_task(work)
        self._running[key] = (kind, task)
        task.add_done_callback(lambda done: self._forget(key, done))

    def cancel(self, key: str) -> None:
        """Cancel what runs under this key, if anything does."""
        running = self._running.get(key)
        if running is not None:
            running[1].cancel()

    async def wind_up(self) -> None:
        """Cancel everything but tools under way; those get a bounded time to finish."""
        self._winding_up = True
        tools = []
        for kind, task in tuple(self._running.values()):
            if kind == "tool":
                tools.append(task)
            else:
                task.cancel()
        if tools:
            await asyncio.wait(tools, timeout=self._finish_seconds)
            for task in tools:
                task.cancel()

    def _forget(self, key: str, done: asyncio.Task[None]) -> None:
        running = self._running.get(key)
        if running is not None and running[1] is done:
            del self._running[key]
