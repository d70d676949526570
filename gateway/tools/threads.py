"""Threads for tools: one that hangs keeps its own thread and nobody else's, and no exit waits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from types import FunctionType, MethodType
from typing import Any, ParamSpec, TypeVar

from gateway.tools.context import ToolFailed
from inference.errors import as_error
from inference.scheduling import yield_to_others

P = ParamSpec("P")
T = TypeVar("T")

MOST = 64
"""Tools at work in threads at once; where so many hang, further ones are refused and not queued."""

NICENESS = 5
"""How far tools stand back behind the audio, as models do."""

GREEDY_SECONDS = 0.1
"""Processor time from which on a thread is remembered: it may have kept the interpreter."""

_greedy: deque[tuple[float, str]] = deque(maxlen=16)

_at_work = threading.BoundedSemaphore(MOST)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that blocks; cancelling leaves it to its thread. Raises ToolFailed when too
    many are at work."""
    if not _at_work.acquire(blocking=False):
        raise ToolFailed("busy", "Too much is going on right now.")
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    work = partial(copy_context().run, partial(function, *args, **kwargs))
    name = f"tool {_name(function)}"
    threading.Thread(target=_run, args=(work, loop, answer), name=name, daemon=True).start()
    return await answer


def greedy_since(moment: float) -> list[str]:
    """Name the threads that used much of the processor and have ended since (monotonic)."""
    return [name for ended, name in tuple(_greedy) if ended >= moment]


def _name(function: Callable[..., Any]) -> str:
    inner = function.func if isinstance(function, partial) else function
    return inner.__qualname__ if isinstance(inner, FunctionType | MethodType) else "call"


def _run(work: Callable[[], T], loop: asyncio.AbstractEventLoop, answer: asyncio.Future[T]) -> None:
    yield_to_others(NICENESS)
    result: Any = None
    error: Exception | None = None
    try:
        result = work()
    except BaseException as raised:  # fence: handed to whoever waits for the tool
        error = as_error(raised)
    finally:
        _at_work.release()
        if time.thread_time() >= GREEDY_SECONDS:
            _greedy.append((time.monotonic(), threading.current_thread().name))
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
