"""How tests run: coroutines in virtual time, unless they say that they need the real one."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest
import uvloop

from gateway.doors.owner import VARIABLE
from gateway.plumbing.virtual_time import VirtualTimeLoop
from tests.support.owner import OWNER

# Nothing of the tests touches the home of who runs them; gateways of theirs inherit it.
os.environ[VARIABLE] = OWNER

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, LoopFactory]:
    """Return each test its loop: one that jumps to the next timer, or the gateway's own."""
    if any(item.get_closest_marker(mark) for mark in ("real_time", "live", "peer")):
        return {"real": uvloop.new_event_loop}
    return {"virtual": VirtualTimeLoop}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have every coroutine test fail that leaves a task behind."""
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _alone(item.obj)


def _alone(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Any]:
    @functools.wraps(test)
    async def watched(*args: Any, **kwargs: Any) -> None:
        await test(*args, **kwargs)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left running: {left}"

    return watched
