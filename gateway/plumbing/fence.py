"""What may be raised at all: foreign code may raise anything, and only errors leave it.

Python lets `KeyboardInterrupt`, `SystemExit` and classes of one's own past `except Exception`; in a
task the first two end the loop and with it every call. Nothing of that kind is a message to this
process: it is stopped by signals, which are taken on the loop (`process/signals.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context
from types import TracebackType
from typing import Any, TypeVar

from inference.errors import as_error

T = TypeVar("T")


def is_stop(raised: BaseException) -> bool:
    """Return whether the running task is being cancelled: the one thing that passes every fence.

    A `CancelledError` that foreign code raised by itself is none.
    """
    task = asyncio.current_task()
    return isinstance(raised, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def fenced_task(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, T] | Generator[Any, Any, T],
    context: Context | None = None,
    **more: Any,
) -> asyncio.Task[T]:
    """Make a task out of which only errors come; for `loop.set_task_factory`."""
    inside: Any = work if isinstance(work, Generator) else Fenced(work)
    return asyncio.Task(inside, loop=loop, context=context, **more)


class Fenced(Coroutine[Any, Any, T]):
    """A coroutine out of which only errors and its own cancellation come."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work

    def send(self, value: Any) -> Any:
        """Go on."""
        try:
            return self._work.send(value)
        except (Exception, asyncio.CancelledError):
            raise
        except BaseException as raised:  # fence: it would end the loop, or a whole group
            raise as_error(raised) from raised

    def throw(self, kind: Any, value: Any = None, trace: TracebackType | None = None, /) -> Any:
        """Go on with an error."""
        try:
            return self._work.throw(kind if value is None else value)
        except (Exception, asyncio.CancelledError):
            raise
        except BaseException as raised:  # fence: it would end the loop, or a whole group
            raise as_error(raised) from raised

    def close(self) -> None:
        """End it."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def __repr__(self) -> str:
        return repr(self._work)

    def __getattr__(self, name: str) -> Any:
        """Return what else is asked of coroutines: their names, and where they stand."""
        return getattr(self._work, name)
