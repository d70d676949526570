"""The HTTP port: slow, silent, greedy and many peers, over loopback sockets in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from gateway.plumbing.starting import bind
from gateway.web.door import Door, Patience

PATIENCE = Patience(idle_connections=3)

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Open = Callable[[], Coroutine[Any, Any, tuple[Reader, Writer]]]

GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class _Server(uvicorn.Server):
    def capture_signals(self) -> Any:
        from contextlib import nullcontext

        return nullcontext()


async def hello(_request: Request) -> Response:
    return PlainTextResponse("hello")


async def echo(request: Request) -> Response:
    return Response(await request.body())


async def endless(_request: Request) -> Response:
    async def parts() -> Any:
        try:
            while True:
                yield b"x" * 65536
                await asyncio.sleep(0.01)
        finally:
            ended.append("endless")

    return StreamingResponse(parts())


async def slow(_request: Request) -> Response:
    await asyncio.sleep(60)
    return PlainTextResponse("late")


gone: list[Exception] = []
ended: list[str] = []


async def missing(_request: Request, error: Exception) -> Response:
    gone.append(error)
    return Response(status_code=400)


@asynccontextmanager
async def serving() -> AsyncIterator[Open]:
    """Serve; what is yielded opens a connection."""
    routes = [
        Route("/", hello),
        Route("/echo", echo, methods=["POST"]),
        Route("/endless", endless),
        Route("/slow", slow),
    ]
    app = Starlette(routes=routes, exception_handlers={ClientDisconnect: missing})
    config = uvicorn.Config(
        app, loop="none", http=Door(PATIENCE), ws="none", lifespan="off",  # type: ignore[arg-type]
        log_config=None, access_log=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = _Server(config)
    (socket,) = bind("test", "127.0.0.1", 0)
    port = socket.getsockname()[1]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(server.serve([socket]))
        while not server.started:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        writers: list[Writer] = []

        async def opened() -> tuple[Reader, Writer]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writers.append(writer)
            return reader, writer

        try:
            yield opened
        finally:
            for writer in writers:
                writer.transport.abort()
            server.should_exit = True
            await task


async def drip(writer: Writer, data: bytes, every: float) -> None:
    """Send a byte at a time, for as long as somebody takes it."""
    try:
        for byte in data:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(every)
    except OSError:
        pass


HEAD = b"GET / HTTP/1.1\r\nHost: here\r\nX-Slow: " + b"a" * 40
BODY = b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 5000\r\n\r\n"
CHUNKED = b"POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = b"GET /ws HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"


@pytest.mark.parametrize(
    ("first", "slowly"),
    [
        (b"", HEAD),
        (BODY, b"b" * 40),
        (CHUNKED, b"1\r\nb\r\n" * 8),
        (UPGRADE, b"X-Slow: " + b"a" * 40),
        (GET, HEAD),
    ],
    ids=["head", "body", "chunks", "upgrade", "second request"],
)
async def test_a_request_that_never_becomes_whole_is_answered_408(
    first: bytes, slowly: bytes
) -> None:
    async with serving() as opened:
        loop = asyncio.get_running_loop()
        reader, writer = await opened()
        writer.write(first)
        if first == GET:
            await reader.readuntil(b"hello")
        begun = loop.time()
        async with asyncio.TaskGroup() as group:
            dripping = group.create_task(drip(writer, slowly, 0.7))
            said = await reader.readline()
            took = loop.time() - begun
            dripping.cancel()
        assert said == b"HTTP/1.1 408 Request Timeout\r\n"
        assert took == pytest.approx(PATIENCE.request_seconds, abs=2)


async def test_one_that_asks_nothing_is_let_go_without_a_word() -> None:
    async with serving() as opened:
        reader, _ = await opened()
        assert await reader.read() == b""


async def test_a_whole_request_has_no_deadline_and_the_next_one_has_its_own() -> None:
    async with serving() as opened:
        reader, writer = await opened()
        writer.write(b"GET /slow HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await reader.readuntil(b"late")).startswith(b"HTTP/1.1 200")
        for _ in range(6):
            await asyncio.sleep(3)
            writer.write(GET)
            assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\nX-Big: ",
        b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n",
    ],
    ids=["head", "body"],
)
async def test_a_request_too_big_is_answered_413_and_no_more_is_read(start: bytes) -> None:
    async with serving() as opened:
        reader, writer = await opened()
        writer.write(start + b"b" * (PATIENCE.request_bytes + 1))
        said = await reader.readline()
        assert said == b"HTTP/1.1 413 Request Entity Too Large\r\n"


async def test_a_peer_that_does_not_read_its_answer_is_let_go() -> None:
    async with serving() as opened:
        ended.clear()
        _, writer = await opened()
        writer.transport.pause_reading()
        writer.write(b"GET /endless HTTP/1.1\r\nHost: here\r\n\r\n")
        await asyncio.sleep(PATIENCE.stalled_seconds - 5)
        assert ended == []
        await asyncio.sleep(10)
        assert ended == ["endless"]


async def test_past_a_number_of_idle_connections_the_oldest_goes_and_others_are_served() -> None:
    async with serving() as opened:
        asking_reader, asking = await opened()
        asking.write(b"GET /slow HTTP/1.1\r\nHost: here\r\n\r\n")
        idle = [await opened() for _ in range(PATIENCE.idle_connections + 1)]
        await asyncio.sleep(0.1)
        over = [reader.at_eof() or reader.exception() is not None for reader, _ in idle]
        assert over == [True, False, False, False]
        reader, writer = await opened()
        writer.write(GET)
        assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
        assert (await asking_reader.readuntil(b"late")).startswith(b"HTTP/1.1 200")
