"""Threads for tools: one that hangs keeps its own thread and nobody else's, and no exit waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from gateway.tools.context import ToolFailed
from inference.errors import as_error

P = ParamSpec("P")
T = TypeVar("T")

MOST = 64
"""Tools at work in threads at once; where so many hang, further ones are refused and not queued."""

_at_work = threading.BoundedSemaphore(MOST)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that blocks; cancelling leaves it to its thread. Raises ToolFailed when too
    many are at work."""
    if not _at_work.acquire(blocking=False):
        raise ToolFailed("busy", "Too much is going on right now.")
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    work = partial(copy_context().run, partial(function, *args, **kwargs))
    threading.Thread(target=_run, args=(work, loop, answer), name="tool", daemon=True).start()
    return await answer


def _run(work: Callable[[], T], loop: asyncio.AbstractEventLoop, answer: asyncio.Future[T]) -> None:
    result: Any = None
    error: Exception | None = None
    try:
        result = work()
    except BaseException as raised:  # fence: handed to whoever waits for the tool
        error = as_error(raised)
    finally:
        _at_work.release()
    try:
        loop.call_soon_threadsafe(_settle, answer, result, error)
    except RuntimeError:
        return  # the loop is closed: the process is leaving and nobody waits any more


def _settle(answer: asyncio.Future[T], result: T, error: Exception | None) -> None:
    if answer.cancelled():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
