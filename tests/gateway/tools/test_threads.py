from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from gateway.tools.context import ToolFailed
from gateway.tools.threads import MOST, in_thread


@pytest.mark.real_time
async def test_a_result_and_an_error_come_back():
    assert await in_thread(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


@pytest.mark.real_time
async def test_an_exit_is_an_error_and_no_end():
    with pytest.raises(RuntimeError, match="SystemExit was raised: 3"):
        await in_thread(sys.exit, 3)


@pytest.mark.real_time
async def test_tools_that_hang_are_left_behind_and_further_ones_are_refused_at_once():
    release = threading.Event()
    before = set(threading.enumerate())  # other tests' threads may stay for good

    try:
        async with asyncio.TaskGroup() as group:
            hanging = [group.create_task(in_thread(release.wait)) for _ in range(MOST)]
            await asyncio.sleep(0)
            with pytest.raises(ToolFailed):
                await in_thread(lambda: 7)
            for task in hanging:
                task.cancel()
    finally:
        release.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
