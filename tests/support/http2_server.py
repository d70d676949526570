"""A small HTTP/2 server over TLS for one fake service: streams in both directions at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError

LARGEST = 16384
"""Bytes of one DATA frame, which every peer takes."""


@dataclass(eq=False)
class Stream:
    """One request and the answer to it."""

    headers: dict[str, str]
    _connection: Connection
    _id: int
    _got: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    ended: bool = False
    "the client has sent all it had"

    async def read(self) -> bytes:
        """Return what came next of the body; empty at its end."""
        return await self._got.get()

    def respond(self, status: int, headers: dict[str, str]) -> None:
        """Send the head of the answer."""
        fields = [(":status", str(status)), *headers.items()]
        self._connection.http.send_headers(self._id, fields)
        self._connection.flush()

    async def write(self, data: bytes, *, end: bool = False) -> None:
        """Send a piece of the answer's body, as fast as the client's window allows."""
        http = self._connection.http
        while data:
            room = min(http.local_flow_control_window(self._id), LARGEST)
            if room <= 0:
                self._connection.window.clear()
                await self._connection.window.wait()
                continue
            http.send_data(self._id, data[:room])
            data = data[room:]
        if end:
            http.end_stream(self._id)
        self._connection.flush()

    def cut(self) -> None:
        """Break the connection without a word."""
        self._connection.writer.transport.abort()


Handler = Callable[[Stream], Awaitable[None]]


class Connection:
    """One client."""

    def __init__(
        self, writer: asyncio.StreamWriter, handler: Handler, group: asyncio.TaskGroup
    ) -> None:
        self.writer = writer
        self.http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.window = asyncio.Event()
        self._handler = handler
        self._group = group
        self._streams: dict[int, Stream] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve until the client is gone."""
        self.http.initiate_connection()
        self.flush()
        try:
            while data := await reader.read(65536):
                for event in self.http.receive_data(data):
                    self._take(event)
                self.flush()
        except (OSError, ProtocolError):
            pass
        for task in self._tasks:
            task.cancel()

    def flush(self) -> None:
        """Send what is to be sent."""
        if not self.writer.transport.is_closing():
            self.writer.write(self.http.data_to_send())

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived():
                headers = {str(name): str(value) for name, value in event.headers}
                stream = self._streams[event.stream_id] = Stream(headers, self, event.stream_id)
                self._tasks.append(self._group.create_task(self._serve(stream)))
            case DataReceived():
                self._streams[event.stream_id]._got.put_nowait(event.data)
                self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded() | StreamReset():
                stream = self._streams[event.stream_id]
                stream.ended = True
                stream._got.put_nowait(b"")
            case WindowUpdated():
                self.window.set()
            case ConnectionTerminated():
                self.writer.close()
            case _:
                pass

    async def _serve(self, stream: Stream) -> None:
        try:
            await self._handler(stream)
        except (OSError, ProtocolError):
            pass  # the client is gone


@dataclass
class Http2Server:
    """Serves a handler at `url`."""

    handler: Handler
    certificate: Path
    "with its key in the same file"
    url: str = ""
    connections: int = 0
    open: int = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Http2Server]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        context.set_alpn_protocols(["h2"])
        async with asyncio.TaskGroup() as group:

            async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                self.connections += 1
                self.open += 1
                try:
                    await Connection(writer, self.handler, group).run(reader)
                finally:
                    self.open -= 1
                    writer.transport.abort()

            tasks: list[asyncio.Task[None]] = []
            server = await asyncio.start_server(
                lambda reader, writer: tasks.append(group.create_task(connected(reader, writer))),
                "127.0.0.1",
                0,
                ssl=context,
            )
            port = server.sockets[0].getsockname()[1]
            self.url = f"https://localhost:{port}"
            try:
                yield self
            finally:
                server.close()
                for task in tasks:
                    task.cancel()
