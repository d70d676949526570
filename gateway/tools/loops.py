"""Loops for tools that are coroutines, in threads of their own: one that blocks stops no call.

They share a loop, so that what they keep open between two uses (a client, a pool) goes on working.
A loop that does not come round is left to whoever blocks it, and what is asked for next gets a new
one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gateway.plumbing.fence import fenced_task
from gateway.tools.context import ToolFailed
from inference.errors import as_error
from inference.scheduling import yield_to_others

T = TypeVar("T")

BEGIN_SECONDS = 0.5
"""How long a loop may take to begin with a tool before it is taken for blocked."""

MOST = 8
"""Loops that may be blocked at once; past them tools are refused and not queued."""

NICENESS = 5
"""How far tools stand back behind the audio, as models do."""


class _Host:
    """A loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(fenced_task)
        threading.Thread(target=self._run, name="tools", daemon=True).start()

    def _run(self) -> None:
        yield_to_others(NICENESS)
        while not self.loop.is_closed():
            try:
                self.loop.run_forever()
            except BaseException:  # fence: whatever a callback raises ends nothing but itself
                continue


class _Ask:
    """One use of a tool, on its way from the calls' loop to the tools' and back."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._make = make
        self._home = asyncio.get_running_loop()
        self.begun: asyncio.Future[None] = self._home.create_future()
        self.answer: asyncio.Future[Any] = self._home.create_future()
        self._claim = threading.Lock()
        self._task: asyncio.Task[None] | None = None

    def claim(self) -> bool:
        """Take the only right to begin it, or to give it to somebody else."""
        return self._claim.acquire(blocking=False)

    def start(self) -> None:
        """Begin, on the tools' loop."""
        self._task = fenced_task(asyncio.get_running_loop(), self._run())

    def stop(self) -> None:
        """Give it up, on the tools' loop."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        if not self.claim():
            return  # the loop was blocked for too long, and another one has it
        self._tell(self.begun, None, None)
        try:
            result = await self._make()
        except BaseException as raised:  # fence: handed to whoever waits for the tool
            self._tell(self.answer, None, as_error(raised))
        else:
            self._tell(self.answer, result, None)

    def _tell(self, future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
        try:
            self._home.call_soon_threadsafe(_settle, future, result, error)
        except RuntimeError:
            return  # the calls' loop is closed: the process is leaving


class ToolLoops:
    """Runs coroutines off the calls' loop."""

    def __init__(self) -> None:
        self._host: _Host | None = None
        self._made = 0

    async def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run what `make` gives; cancelling cancels it. Raises ToolFailed where none can begin."""
        while True:
            host = self._take()
            ask = _Ask(make)
            host.loop.call_soon_threadsafe(ask.start)
            try:
                if await self._begun(ask):
                    result: T = await ask.answer
                    return result
            except asyncio.CancelledError:
                ask.claim()  # if it has not begun, it never does
                host.loop.call_soon_threadsafe(ask.stop)
                raise
            if self._host is host:
                self._host = None

    async def _begun(self, ask: _Ask) -> bool:
        """Wait for a tool to begin; False: its loop is blocked, and it never does there."""
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                await ask.begun
        except TimeoutError:
            return not ask.claim()
        return True

    def _take(self) -> _Host:
        if self._host is None:
            if self._made >= MOST:
                raise ToolFailed("busy", "Too much is going on right now.")
            self._made += 1
            self._host = _Host()
        return self._host


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


LOOPS = ToolLoops()
"""Of this process."""
