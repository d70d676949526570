"""Whatever foreign code raises ends what it was asked for, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from gateway.plumbing.fence import fenced_task, is_stop
from inference.errors import Broke, as_error

ODD = (KeyboardInterrupt, SystemExit, GeneratorExit, BaseException, StopIteration)


@pytest.mark.parametrize("kind", ODD)
async def test_what_is_no_error_comes_out_of_a_task_as_one(kind: type[BaseException]) -> None:
    asyncio.get_running_loop().set_task_factory(fenced_task)

    async def raises() -> None:
        await asyncio.sleep(0)
        raise kind("why")

    async def lives() -> int:
        await asyncio.sleep(1)
        return 7

    async with asyncio.TaskGroup() as outer:
        other = outer.create_task(lives())
        with pytest.raises(ExceptionGroup) as caught:
            async with asyncio.TaskGroup() as group:
                group.create_task(raises())
        assert isinstance(caught.value.exceptions[0], RuntimeError)
    assert other.result() == 7


async def test_a_task_that_nobody_waits_for_ends_nothing() -> None:
    loop = asyncio.get_running_loop()

    async def raises() -> None:
        raise KeyboardInterrupt

    left = fenced_task(loop, raises())
    await asyncio.sleep(1)
    assert isinstance(left.exception(), Broke)


async def test_a_task_is_cancelled_as_ever_begun_or_not() -> None:
    asyncio.get_running_loop().set_task_factory(fenced_task)
    async with asyncio.TaskGroup() as group:
        begun = group.create_task(asyncio.sleep(9))
        await asyncio.sleep(0)
        fresh = group.create_task(asyncio.sleep(9))
        begun.cancel()
        fresh.cancel()
    assert begun.cancelled()
    assert fresh.cancelled()


async def test_a_cancellation_that_nobody_asked_for_is_no_stop() -> None:
    seen: list[bool] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(9)
        except asyncio.CancelledError as raised:
            seen.append(is_stop(raised))
            raise

    async with asyncio.TaskGroup() as group:
        task = group.create_task(waits())
        await asyncio.sleep(0)
        task.cancel()
    assert seen == [True]
    assert not is_stop(asyncio.CancelledError())


def test_an_error_stays_what_it_is_and_all_else_becomes_one() -> None:
    plain = ValueError("x")
    assert as_error(plain) is plain
    assert str(as_error(SystemExit(3))) == "SystemExit was raised: 3"
    assert isinstance(as_error(asyncio.CancelledError()), Broke)
