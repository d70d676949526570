"""A small HTTP/1.1 server for fakes of model servers: streams, notices who hangs up, can cut.

It runs in virtual time, keeps connections open as real servers do, and ends a handler's work the
moment its client is gone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import h11


@dataclass
class Request:
    """What came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Exchange:
    """One request and the answer to it, as the handler writes it."""

    request: Request
    _server: HttpServer
    _writer: asyncio.StreamWriter
    _http: h11.Connection
    begun: bool = False
    done: bool = False

    async def answer(
        self, status: int, body: Any = b"", headers: dict[str, str] | None = None
    ) -> None:
        """Answer at once; anything but bytes is sent as JSON."""
        kind = "application/octet-stream"
        if not isinstance(body, bytes):
            body, kind = json.dumps(body).encode(), "application/json"
        await self.begin(status, kind, {"content-length": str(len(body)), **(headers or {})})
        await self.send(body)
        await self.end()

    async def begin(
        self, status: int = 200, kind: str = "text/event-stream", more: dict[str, str] | None = None
    ) -> None:
        """Send the head."""
        self.begun = True
        headers = [("content-type", kind), *(more or {}).items()]
        if "content-length" not in (more or {}):
            headers.append(("transfer-encoding", "chunked"))
        await self._put(h11.Response(status_code=status, headers=headers))

    async def send(self, data: bytes) -> None:
        """Send a piece of the body."""
        if data:
            await self._put(h11.Data(data=data))

    async def event(self, data: Any) -> None:
        """Send one server-sent event."""
        text = data if isinstance(data, str) else json.dumps(data)
        await self.send(f"data: {text}\n\n".encode())

    async def end(self) -> None:
        """End the body."""
        self.done = True
        await self._put(h11.EndOfMessage())

    def cut(self) -> None:
        """Break the connection without a word."""
        self.done = True
        self._writer.transport.abort()

    async def _put(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()


Handler = Callable[[Exchange], Awaitable[None]]


@dataclass
class HttpServer:
    """Serves a handler on a free loopback port."""

    handler: Handler
    url: str = ""
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    aborted: int = 0
    "answers whose client hung up"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[HttpServer]:
        """Serve until the block is left."""
        async with asyncio.TaskGroup() as group:

            def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                group.create_task(self._connection(reader, writer))

            server = await asyncio.start_server(connected, "127.0.0.1", 0)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            try:
                yield self
            finally:
                server.close()
                self.cut_all()

    def cut_all(self) -> None:
        """Break every connection."""
        for writer in tuple(self.open):
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        http = h11.Connection(h11.SERVER)
        try:
            while (request := await self._request(reader, http)) is not None:
                exchange = Exchange(request, self, writer, http)
                await self._answer(exchange, reader)
                if not exchange.done or writer.transport.is_closing():
                    break
                http.start_next_cycle()
        except (OSError, h11.ProtocolError):
            pass
        finally:
            self.open.discard(writer)
            writer.transport.abort()
            try:
                await writer.wait_closed()
            except OSError:
                pass

    async def _answer(self, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        """Run the handler, unless the client goes away first."""
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._work(exchange))
            gone = group.create_task(_gone(reader))
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.aborted += 1
                work.cancel()
            gone.cancel()

    async def _work(self, exchange: Exchange) -> None:
        try:
            await self.handler(exchange)
        except (OSError, h11.ProtocolError):
            pass

    async def _request(self, reader: asyncio.StreamReader, http: h11.Connection) -> Request | None:
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                http.receive_data(await reader.read(65536))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                assert head is not None
                headers = {name.decode(): value.decode() for name, value in head.headers}
                return Request(head.method.decode(), head.target.decode(), headers, bytes(body))
            else:
                return None


async def _gone(reader: asyncio.StreamReader) -> None:
    """Wait until the client goes away, however it does; none pipelines."""
    try:
        await reader.read(1)
    except OSError:
        pass
