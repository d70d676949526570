"""What a process is to the others that serve the same gateway, where there are any."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from socket import socket
from typing import Protocol

from gateway.config import Settings
from gateway.lines.port import Wire
from gateway.plumbing.seat import ALONE, Seat
from gateway.plumbing.starting import bind
from gateway.plumbing.systemd import held_sockets
from gateway.process.fleet.board import Board
from gateway.process.fleet.messages import Standing
from gateway.process.rereading import Reread, Rereading
from gateway.process.signals import Stopping
from gateway.web.door import Sorting

Taken = Callable[[socket, bytes], Coroutine[None, None, None]]
"""Serves a connection that came to another process, from what was read of its request on."""


Page = Callable[[], Awaitable[bytes]]
"""Gives the metrics of one process."""


class Fleet(Protocol):
    """All processes of a gateway, as one of them sees them."""

    seat: Seat
    "which one this is"
    board: Board
    "how all stand; this one's own standing is as fresh as the last `stand`"
    started: float
    "wall clock, when the gateway began"
    sorting: Sorting | None
    "hands connections to other processes; None: there are none"

    def sockets(self, settings: Settings) -> list[socket]:
        """Give the sockets of the HTTP port; raises StartFailed."""

    def wire(self, line: str) -> Wire | None:
        """Return the wire to the front of a line; None: it has none, and serves itself."""

    def serve(self, group: asyncio.TaskGroup, taken: Taken, stop: asyncio.Event) -> None:
        """Take connections from other processes from now on, each by a task of the group; `stop`
        is set when nobody is left who watches over this one."""

    def stand(self, standing: Standing) -> None:
        """Tell how this process stands."""

    def named(self, name: str) -> None:
        """Tell that a call has this name in the log."""

    def listen(self, named: Callable[[str], None]) -> None:
        """Give the names that calls of other processes have to `named`."""

    def follow(self, stopping: Stopping, changed: Callable[[Settings], None]) -> None:
        """Give the settings to `changed` whenever SIGHUP has them read again."""

    def up(self, address: str) -> None:
        """Tell that calls can come."""

    def show(self, page: Page) -> None:
        """Have others given this process's metrics by `page`."""

    async def page(self, own: Page) -> bytes:
        """Return the metrics of all processes, of which this one's are `own`."""


def http_sockets(settings: Settings) -> list[socket]:
    """Return the sockets of the HTTP port, systemd's or by the settings; raise StartFailed."""
    server = settings.server
    return held_sockets() or bind("server.host and server.port", server.host, server.port)


class Alone:
    """Implements `Fleet` for the one process that most gateways are."""

    seat = ALONE
    sorting: Sorting | None = None

    def __init__(self, ready: Callable[[str], None], reread: Reread) -> None:
        """`ready` is told the address once calls can come."""
        self._rereading = Rereading(reread)
        self.board = Board()
        self.started = time.time()
        self._ready = ready

    def sockets(self, settings: Settings) -> list[socket]:
        """Take the HTTP port, unless it is held for this process."""
        return http_sockets(settings)

    def wire(self, line: str) -> Wire | None:
        """Return none: every line has its own sockets."""
        return None

    def serve(self, group: asyncio.TaskGroup, taken: Taken, stop: asyncio.Event) -> None:
        """Nothing comes from others."""

    def stand(self, standing: Standing) -> None:
        """Be the only one on the board."""
        self.board.take({0: standing})

    def named(self, name: str) -> None:
        """Nobody else has calls."""

    def listen(self, named: Callable[[str], None]) -> None:
        """Nobody else has calls."""

    def follow(self, stopping: Stopping, changed: Callable[[Settings], None]) -> None:
        """Read again by itself."""
        stopping.reread = lambda: self._rereading.ask(changed)

    def up(self, address: str) -> None:
        """Tell whoever started the process."""
        self._ready(address)

    def show(self, page: Page) -> None:
        """Nobody else asks."""

    async def page(self, own: Page) -> bytes:
        """Return this process's metrics."""
        return await own()
