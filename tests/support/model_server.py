"""A loopback server for model protocols: a script of what to send, a list of what came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from gateway.backends.session import SessionBackend
from gateway.events import BackendTurn, CallInfo, Entry, Respond
from gateway.ports import BackendEvent, BackendStart, ToolSpec

LOOKUP = ToolSpec("lookup", "Look up.", {"type": "object", "properties": {}})

Check = Callable[[dict[str, Any]], object]
"""Validates a message against the vendor's own types; raises when it is wrong."""


@dataclass
class Wire:
    """The server's end of one connection."""

    socket: ServerConnection
    check: Check
    got: list[dict[str, Any]]

    async def send(self, message: dict[str, Any]) -> None:
        self.check(message)
        try:
            await self.socket.send(json.dumps(message))
        except ConnectionClosed:
            pass


@dataclass
class ModelServer:
    """Answers every message by `handle(wire, message)`."""

    handle: Callable[[Wire, dict[str, Any]], Awaitable[None]]
    check_server: Check
    check_client: Check
    got: list[dict[str, Any]] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    url: str = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[ModelServer]:
        async with serve(self._connection, "127.0.0.1", 0, compression=None) as server:
            self.url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/live"
            yield self

    async def _connection(self, socket: ServerConnection) -> None:
        wire = Wire(socket, self.check_server, self.got)
        self.wires.append(wire)
        try:
            async for text in socket:
                message = json.loads(text)
                self.check_client(message)
                self.got.append(message)
                await self.handle(wire, message)
        except ConnectionClosed:
            pass


class Bench:
    """A backend in a call of its own, and what it said."""

    def __init__(self, backend: SessionBackend, codec: str = "pcmu", rate: int = 8000) -> None:
        self.backend = backend
        self.events: list[BackendEvent] = []
        self.history: tuple[Entry, ...] = ()
        self._changed = asyncio.Event()
        info = CallInfo("c1", "twilio", "test", rate=rate, codec=codec)
        self.start = BackendStart(
            info, "Be kind.", (LOOKUP,), next_utterance=lambda: 50, recall=lambda: self.history
        )
        self.on_event: Callable[[BackendEvent], None] = lambda event: None

    async def run(self) -> None:
        await self.backend.run(self.start, self._emit)

    def _emit(self, event: BackendEvent) -> None:
        self.events.append(event)
        self.on_event(event)
        self._changed.set()

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def number_turns(self) -> None:
        """Answer each turn that the model ends with a call's numbers: reply n, utterance 10 n."""
        turns = 0

        def on_event(event: BackendEvent) -> None:
            nonlocal turns
            if event == BackendTurn("ended"):
                turns += 1
                self.backend.perform(Respond(turns, turns, turns * 10, 0, 0))

        self.on_event = on_event

    async def until(self, kind: type, count: int = 1) -> Any:
        async with asyncio.timeout(60):
            while len(self.of(kind)) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.of(kind)[count - 1]


@asynccontextmanager
async def play(server: ModelServer, make: Callable[[str], SessionBackend]) -> AsyncIterator[Bench]:
    """Hold a call with a server, and leave nothing behind."""
    async with server.serving():
        bench = Bench(make(server.url))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(bench.run())
            yield bench
            task.cancel()
        await asyncio.sleep(1)
