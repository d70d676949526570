"""Connections that are for another process: given away with what was read, and served there."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import uvloop
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from gateway.lines.websocket.upgrade import SocketDoor, UpgradeAsk, UpgradeRefusal, Upgrades
from gateway.plumbing.starting import bind
from gateway.process.http_server import HttpServer, http_server

pytestmark = pytest.mark.real_time


@dataclass
class Sorted:
    """Sends what asks for `/there` to the other server."""

    group: asyncio.TaskGroup
    other: HttpServer | None = None
    takes: bool = True
    handed: list[bytes] = field(default_factory=list)

    def elsewhere(self, method: str, path: str, headers: Mapping[str, str]) -> int | None:
        return 1 if path.startswith("/there") else None

    def hand_over(self, to: int, connection: int, data: bytes) -> bool:
        if not self.takes or self.other is None:
            return False
        self.handed.append(data)
        copy = socket.socket(fileno=os.dup(connection))
        self.group.create_task(self.other.take(copy, data))
        return True


def server(name: str, sorting: Sorted | None) -> HttpServer:
    async def hello(request: Request) -> Response:
        return PlainTextResponse(f"{name}:{(await request.body()).decode()}")

    def refuse(ask: UpgradeAsk) -> UpgradeRefusal:
        return UpgradeRefusal(418, f"{name} has no sockets")

    routes = [Route(path, hello, methods=["GET", "POST"]) for path in ("/here", "/there")]
    return http_server([*routes], Upgrades({"/there/socket": SocketDoor(refuse)}), sorting)


@dataclass
class Two:
    """Two servers, of which the first one has the port."""

    sorting: Sorted
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, *pieces: bytes) -> str:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0)
        head = await self.reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return (await self.reader.readexactly(size)).decode()


@asynccontextmanager
async def two() -> AsyncIterator[Two]:
    async with asyncio.TaskGroup() as group:
        sorting = Sorted(group)
        first, second = server("first", sorting), server("second", None)
        sorting.other = second
        serving = []
        ports = [bind("test", "127.0.0.1", 0) for _ in range(2)]
        for one, sockets in zip((first, second), ports, strict=True):
            serving.append(group.create_task(one.serve(sockets)))
        while not (first.started and second.started):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection(*ports[0][0].getsockname())
        try:
            yield Two(sorting, reader, writer)
        finally:
            writer.transport.abort()
            first.should_exit = second.should_exit = True


HERE = b"GET /here HTTP/1.1\r\nHost: h\r\n\r\n"
THERE = b"GET /there HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST /there HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\n"


async def test_each_request_of_a_connection_is_answered_where_it_belongs() -> None:
    async with two() as it:
        assert await it.ask(HERE) == "first:"
        assert await it.ask(THERE) == "second:"
        assert (
            await it.ask(HERE) == "second:"
        )  # whoever has the connection answers what is nobody's


@pytest.mark.parametrize(
    "pieces",
    [
        [POST + b"the body"],
        [POST, b"the ", b"body"],
        [POST[:20], POST[20:], b"the body"],
        [POST[:-2], b"\r\nthe", b" body"],
    ],
    ids=["whole", "body later", "head in pieces", "cut within the last line"],
)
async def test_a_request_arrives_whole_however_it_came(pieces: list[bytes]) -> None:
    async with two() as it:
        assert await it.ask(HERE) == "first:"
        assert await it.ask(*pieces) == "second:the body"


async def test_a_websocket_goes_where_it_belongs() -> None:
    asked = (
        b"GET /there/socket HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    async with two() as it:
        assert "second has no sockets" in await it.ask(asked)


async def test_requests_that_were_sent_ahead_are_answered_in_order() -> None:
    async with two() as it:
        assert await it.ask(HERE + HERE + THERE) == "first:"
        assert await it.ask() == "first:"
        assert await it.ask() == "first:"  # where one request ends is not known: none is given away
        assert it.sorting.handed == []


async def test_what_cannot_be_given_away_is_refused() -> None:
    async with two() as it:
        it.sorting.takes = False
        it.writer.write(THERE)
        assert (await it.reader.read()).startswith(b"HTTP/1.1 503")


def test_what_follows_while_a_connection_changes_hands_comes_after_what_was_read() -> None:
    async def story() -> bytes:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        one, sockets = server("second", None), bind("test", "127.0.0.1", 0)
        async with asyncio.TaskGroup() as group:
            group.create_task(one.serve(sockets))
            while not one.started:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await loop.sock_sendall(ours, b"the body")  # it is there before anybody reads on
            await one.take(theirs, POST)
            said = b""
            while not said.endswith(b"second:the body") and b" 400 " not in said:
                said += await loop.sock_recv(ours, 4096)
            one.should_exit = True
            ours.close()
        return said

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(story()).startswith(b"HTTP/1.1 200")
