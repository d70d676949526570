"""Virtual time keeps order, serves sockets before it jumps, and waits for threads."""

from __future__ import annotations

import asyncio
import time

import pytest

from gateway.plumbing import virtual_time


def test_an_hour_takes_no_time_and_timers_fire_in_order() -> None:
    fired: list[tuple[str, float]] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        loop.call_later(3600, lambda: fired.append(("late", loop.time() - began)))
        loop.call_later(0.02, lambda: fired.append(("early", loop.time() - began)))
        await asyncio.sleep(3601)

    real = time.monotonic()
    virtual_time.run(story())
    assert [name for name, _ in fired] == ["early", "late"]
    assert [at for _, at in fired] == pytest.approx([0.02, 3600.0])
    assert time.monotonic() - real < 5


def test_a_time_out_fires_when_nothing_answers() -> None:
    async def story() -> None:
        async with asyncio.timeout(30):
            await asyncio.get_running_loop().create_future()

    with pytest.raises(TimeoutError):
        virtual_time.run(story())


def test_an_absolute_schedule_does_not_drift() -> None:
    async def story() -> float:
        loop = asyncio.get_running_loop()
        start = loop.time()
        for n in range(1, 501):
            await asyncio.sleep(start + n * 0.02 - loop.time())
        return loop.time() - start

    assert virtual_time.run(story()) == pytest.approx(10.0, abs=1e-6)


def test_sockets_are_served_before_time_jumps() -> None:
    async def story() -> list[float]:
        loop = asyncio.get_running_loop()

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(100):
                writer.write(data)
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        took = []
        for _ in range(50):
            began = loop.time()
            writer.write(b"ping")
            async with asyncio.timeout(0.001):
                await reader.readexactly(4)
            took.append(loop.time() - began)
            await asyncio.sleep(0.02)
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.01)
        return took

    assert max(virtual_time.run(story())) == 0.0


def test_work_in_a_thread_takes_no_virtual_time() -> None:
    async def story() -> tuple[int, float]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.timeout(0.5):
            answer = await asyncio.to_thread(lambda: (time.sleep(0.02), 42)[1])
        return answer, loop.time() - began

    assert virtual_time.run(story()) == (42, 0.0)


def test_time_stands_still_for_outside_work() -> None:
    until = time.monotonic() + 0.05

    async def story() -> bool:
        await asyncio.sleep(1)
        return time.monotonic() >= until

    assert virtual_time.run(story(), outside=[lambda: time.monotonic() < until])


def test_a_task_left_behind_fails_the_run() -> None:
    async def story() -> None:
        running = asyncio.get_running_loop()
        left.append(running.create_task(asyncio.sleep(5)))

    left: list[asyncio.Task[None]] = []
    with pytest.raises(AssertionError, match="left running"):
        virtual_time.run(story())
