"""The front of the SIP line: the sockets that several processes share, and who gets what comes."""

from __future__ import annotations

import asyncio

from gateway.lines.port import FrontNeeds
from gateway.lines.sip.dispatch import Dispatch
from gateway.lines.sip.front_messages import Broke, Came, Ports, encode, to_front
from gateway.lines.sip.opening import OwnSockets
from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transactions.matching import Key


class SipFront:
    """Frames and hands on; reads no more of a message than its Call-ID."""

    def __init__(self, settings: SipSettings, needs: FrontNeeds) -> None:
        self._tell = needs.tell
        self._dispatch = Dispatch(needs.choose)
        self._sockets = OwnSockets(settings, self._came, self._broke)

    async def open(self, group: asyncio.TaskGroup) -> None:
        """Take the line's ports; raises StartFailed."""
        await self._sockets.open(group)

    def joined(self, number: int) -> None:
        """Tell a process where the line listens."""
        self._tell(number, encode(Ports(tuple(self._sockets.bound))))

    def said(self, number: int, message: bytes) -> None:
        """Send what a process wants sent."""
        asked = to_front.decode(message)
        self._dispatch.sent(number, asked.data)
        # Whose it was stands in front, since a transaction's name says nothing of its process.
        owner = None if asked.owner is None else (str(number), *asked.owner)
        self._sockets.send(asked.data, asked.hop, owner)

    def lost(self, number: int) -> None:
        """Forget a process and its calls."""
        self._dispatch.lost(number)

    async def close(self) -> None:
        """Let the ports go."""
        await self._sockets.close()

    def _came(self, data: bytes, hop: Hop) -> None:
        to = self._dispatch.to(data)
        if to is not None:  # else there is nobody: who sent it repeats it
            self._tell(to, encode(Came(data, hop)))

    def _broke(self, owner: Key | None) -> None:
        if owner is not None:
            self._tell(int(owner[0]), encode(Broke(owner[1:])))
