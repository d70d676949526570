"""Virtual time: an event loop whose selector never sleeps but jumps to the next timer.

Real loopback sockets work: what is ready on them is served before any jump.
Work in threads takes real time and no virtual time: the loop waits for it before it jumps.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
Result = TypeVar("Result")

START = 1000.0
"""Loop time at which a run begins; not 0, so that code which takes 0 for "unset" is caught."""

PATIENCE = 30.0
"""Real seconds without any event, thread result or timer after which a run is stuck."""

_GLANCE = 0.005
"""Real seconds between two looks at work that cannot wake the loop by itself."""


class StuckError(RuntimeError):
    """Nothing is scheduled, nothing runs in a thread, and no socket speaks: a deadlock."""


class JumpingSelector(selectors.BaseSelector):
    """The platform's selector, except that waiting for a timer moves `now` instead."""

    def __init__(self, busy: Callable[[], bool]) -> None:
        self.now = START
        self._real = selectors.DefaultSelector()
        self._busy = busy

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file."""
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Watch it no more."""
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file for something else."""
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Return what is watched."""
        return self._real.get_map()

    def close(self) -> None:
        """Let go of the platform's selector."""
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; else jump to where the wait would end."""
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        time.sleep(0)  # lets a kernel thread that holds loopback data deliver it
        ready = self._real.select(0)
        if ready:
            return ready
        if timeout is None or self._busy():
            return self._wait()
        self.now += timeout
        return []

    def _wait(self) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait in real time for a socket or a thread; a thread's result wakes the selector."""
        until = time.monotonic() + PATIENCE
        was_busy = self._busy()
        while time.monotonic() < until:
            ready = self._real.select(_GLANCE if was_busy else PATIENCE)
            if ready or (was_busy and not self._busy()):
                return ready
        raise StuckError("virtual time: nothing is scheduled and nothing happens")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop in virtual time."""

    def __init__(self, outside: Sequence[Callable[[], bool]] = ()) -> None:
        self._working = 0
        self._outside = [*outside]
        self._jumping = JumpingSelector(self._is_busy)
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the virtual time."""
        return self._jumping.now

    def block(self, seconds: float) -> None:
        """Let time pass as a blocking call does: nothing else happens meanwhile."""
        self._jumping.now += seconds

    @contextmanager
    def waiting_for(self, busy: Callable[[], bool]) -> Iterator[None]:
        """Let time stand still while work that the loop cannot see (an own thread) still runs."""
        self._outside.append(busy)
        try:
            yield
        finally:
            self._outside.remove(busy)

    def _is_busy(self) -> bool:
        return self._working > 0 or any(busy() for busy in self._outside)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> Any:
        """Run in a thread; no time passes until it is done."""
        future = super().run_in_executor(executor, func, *args)
        self._working += 1
        future.add_done_callback(self._worked)
        return future

    def _worked(self, _future: asyncio.Future[Any]) -> None:
        self._working -= 1

    async def shutdown_default_executor(self, *args: Any, **kwargs: Any) -> None:
        """End the threads."""
        self._working += 1  # its time-out (Python 3.12) must not be jumped over
        try:
            await super().shutdown_default_executor(*args, **kwargs)
        finally:
            self._working -= 1


def run(
    coroutine: Coroutine[Any, Any, Result], outside: Sequence[Callable[[], bool]] = ()
) -> Result:
    """Run a coroutine to its end in virtual time, and fail if it leaves a task behind.

    `outside` says whether work that the loop cannot see (an own thread, a child process) still
    runs; while any says so, time stands still.
    """

    async def guarded() -> Result:
        result = await coroutine
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left running: {left}"
        return result

    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(outside)) as runner:
        return runner.run(guarded())
