"""The sockets of a SIP line whose front has them: what is sent and what comes goes by a wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, assert_never

from gateway.lines.port import Wire
from gateway.lines.sip.front_messages import Broke, Came, Ports, Send, encode, to_part
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transactions.matching import Key
from gateway.lines.sip.transport.sockets import Bound, Receive


class Carriage(Protocol):
    """What carries a line's messages: sockets of its own, or its front's."""

    @property
    def bound(self) -> list[Bound]:
        """What is listened on, once that is open."""

    @property
    def dropped(self) -> int:
        """Messages that were not listened to."""

    async def open(self, group: asyncio.TaskGroup) -> None:
        """Begin; raises StartFailed."""

    def send(self, data: bytes, hop: Hop, owner: Key | None) -> None:
        """Send to a hop; `owner` is told when that cannot be, not before this returns."""

    async def close(self) -> None:
        """Let the sockets go."""


class ThroughFront:
    """Implements `Carriage` over the wire to the line's front."""

    dropped = 0

    def __init__(self, wire: Wire, receive: Receive, broke: Callable[[Key | None], None]) -> None:
        self.bound: list[Bound] = []
        self._wire = wire
        self._receive = receive
        self._broke = broke
        self._opened = asyncio.Event()

    async def open(self, _group: asyncio.TaskGroup) -> None:
        """Wait until the front has said where it listens."""
        self._wire.listen(self._said)
        await self._opened.wait()

    def send(self, data: bytes, hop: Hop, owner: Key | None) -> None:
        """Have the front send it."""
        self._wire.send(encode(Send(data, hop, owner)))

    async def close(self) -> None:
        """Nothing: the front goes on for the other processes."""

    def _said(self, message: bytes) -> None:
        said = to_part.decode(message)
        match said:
            case Came(data, hop):
                self._receive(data, hop)
            case Broke(owner):
                self._broke(owner)
            case Ports(bound):
                self.bound = list(bound)
                self._opened.set()
            case _:
                assert_never(said)
