"""A model's server that sends too much is given up, whatever it sends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from gateway.backends.socket import BYTES, LONGEST_MESSAGE, MESSAGES, ModelSocket

PART = b"x" * (LONGEST_MESSAGE // 8)


async def endless_small(socket: ServerConnection) -> None:
    while True:
        await socket.send("x")


async def endless_large(socket: ServerConnection) -> None:
    while True:
        await socket.send(PART)


async def one_that_never_ends(socket: ServerConnection) -> None:
    async def parts():  # type: ignore[no-untyped-def]
        while True:
            yield PART

    await socket.send(parts())


@pytest.mark.parametrize(
    ("floods", "why", "most"),
    [
        (endless_small, "more than anyone can hear", MESSAGES.at_once),
        (endless_large, "more than anyone can hear", BYTES.at_once / len(PART)),
        (one_that_never_ends, "a message of more than", 0),
    ],
)
async def test_a_flood_is_cut(
    floods: Callable[[ServerConnection], Awaitable[None]], why: str, most: float
) -> None:
    async def handle(socket: ServerConnection) -> None:
        try:
            await floods(socket)
        except ConnectionClosed:
            pass

    messages: list[int] = []
    async with serve(handle, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        socket = ModelSocket(lambda message: messages.append(len(message)))
        await socket.open(f"ws://127.0.0.1:{port}", {}, 5.0)
        await socket.closed.wait()
        await asyncio.sleep(0.1)
    assert why in socket.reason
    assert len(messages) <= most
