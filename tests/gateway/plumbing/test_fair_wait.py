"""A peer whose data waits while the process stands still is not taken for a silent one."""

from __future__ import annotations

import asyncio

from gateway.plumbing.fair_wait import GRACE_SECONDS, FairWait
from gateway.plumbing.virtual_time import VirtualTimeLoop


async def test_a_wait_ends_when_it_is_over_and_not_when_it_is_called_off() -> None:
    loop, over = asyncio.get_running_loop(), list[float]()
    begun = loop.time()
    FairWait(loop, 10.0, lambda: over.append(loop.time() - begun))
    FairWait(loop, 5.0, lambda: over.append(0.0)).cancel()
    await asyncio.sleep(20)
    assert over == [10.0]


async def test_a_process_that_stood_still_reads_what_came_before_it_blames_the_peer() -> None:
    loop, over = asyncio.get_running_loop(), list[str]()
    assert isinstance(loop, VirtualTimeLoop)

    class Reader(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            speaks.cancel()

    async with await loop.create_server(Reader, "127.0.0.1", 0) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await asyncio.sleep(0.1)
        speaks = FairWait(loop, 10.0, lambda: over.append("speaks"))
        FairWait(loop, 10.0, lambda: over.append("silent"))
        writer.write(b"here")
        loop.block(30.0)
        await asyncio.sleep(2 * GRACE_SECONDS)
        writer.close()
        await writer.wait_closed()
    assert over == ["silent"]
