"""Tools that are coroutines run off the calls' loop, and one that blocks blocks itself."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from gateway.plumbing.fence import fenced_task
from gateway.tools.context import ToolFailed
from gateway.tools.loops import ToolLoops
from inference.errors import Broke

pytestmark = pytest.mark.real_time


async def test_an_answer_and_an_error_come_back_from_another_thread() -> None:
    loops = ToolLoops()

    async def where() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    async def breaks() -> None:
        raise KeyboardInterrupt

    assert await loops.run(where) == "tools"
    with pytest.raises(Broke):
        await loops.run(breaks)
    assert await loops.run(where) == "tools"


async def test_what_a_tool_leaves_behind_ends_nothing_and_its_loop_goes_on() -> None:
    loops = ToolLoops()
    left: list[asyncio.Task[None]] = []
    there: list[asyncio.AbstractEventLoop] = []

    async def leaves() -> None:
        async def later() -> None:
            raise SystemExit(3)

        def calls_back() -> None:
            raise KeyboardInterrupt

        loop = asyncio.get_running_loop()
        there.append(loop)
        left.append(fenced_task(loop, later()))
        loop.call_soon(calls_back)

    await loops.run(leaves)
    await loops.run(leaves)
    assert there[0] is there[1]
    assert isinstance(left[0].exception(), Broke)


async def test_a_tool_that_blocks_leaves_the_calls_loop_and_the_next_tool_alone() -> None:
    loops, go = ToolLoops(), threading.Event()
    rounds = 0

    async def blocks() -> str:
        go.wait(30)
        return "late"

    async def quick() -> str:
        return "quick"

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0.01)

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count())
        blocked = group.create_task(loops.run(blocks))
        await asyncio.sleep(0)
        assert await loops.run(quick) == "quick"
        assert rounds > 5
        assert not blocked.done()
        go.set()
        assert await blocked == "late"
        counting.cancel()


async def test_a_tool_that_is_given_up_is_cancelled_in_its_loop() -> None:
    loops = ToolLoops()
    ended, begun = threading.Event(), threading.Event()

    async def waits() -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(loops.run(waits))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
    assert await asyncio.to_thread(ended.wait, 10)


async def test_where_too_many_loops_are_blocked_tools_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.tools.loops.MOST", 1)
    loops, go = ToolLoops(), threading.Event()

    async def blocks() -> None:
        go.wait(30)

    begun = time.monotonic()
    async with asyncio.TaskGroup() as group:
        group.create_task(loops.run(blocks))
        await asyncio.sleep(0)
        with pytest.raises(ToolFailed):
            await loops.run(blocks)
        go.set()
    assert time.monotonic() - begun < 20
