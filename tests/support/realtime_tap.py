"""A wire tap between the gateway and a Realtime server: passes everything on and keeps it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from websockets.asyncio.client import connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

Side = Literal["ours", "theirs"]


@dataclass
class RealtimeTap:
    """Stands before the server at `target`; `events` are what went by, in order."""

    target: str
    "`ws://host:port`"
    events: list[tuple[Side, dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    def of(self, side: Side, kind: str) -> list[dict[str, Any]]:
        """Pick the events of one side and type."""
        return [event for whose, event in self.events if whose == side and event["type"] == kind]

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[RealtimeTap]:
        async with serve(self._connection, "127.0.0.1", 0, compression=None) as server:
            self.url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
            yield self

    async def _connection(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        url = self.target + socket.request.path
        async with (
            connect(url, compression=None, max_size=None, proxy=None) as onward,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(self._pass(socket, onward, "ours"))
            group.create_task(self._pass(onward, socket, "theirs"))

    async def _pass(self, one: Connection, other: Connection, side: Side) -> None:
        """Pass messages on; when one end closes, so does the other."""
        try:
            async for message in one:
                self.events.append((side, json.loads(message)))
                await other.send(message)
        except ConnectionClosed:
            pass
        await other.close()
