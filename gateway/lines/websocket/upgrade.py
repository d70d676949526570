"""Where a WebSocket upgrade goes: to the line that has its path, or nowhere.

uvicorn serves HTTP and the WebSocket on one port; its `ws=` setting names what takes a connection
over once the upgrade request is read.
Sources: uvicorn, `HttpToolsProtocol.handle_websocket_upgrade`; picows, `WSProtocol`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from picows import WSListener, WSUpgradeRequest, WSUpgradeResponse, WSUpgradeResponseWithListener
from picows.picows import WSAutoPingStrategy, WSProtocol  # type: ignore[attr-defined]

from gateway.lines.websocket.socket import MediaSocket, SocketLimits, SocketOwner

_SILENT = logging.Logger("picows", level=logging.CRITICAL + 1)
"""What is worth a line is logged by the owner of the socket, once and with its fields."""


@dataclass(frozen=True, slots=True)
class UpgradeAsk:
    """Who asks for a WebSocket."""

    path: str
    query: str
    headers: Mapping[str, str]
    "looked up without regard to case"
    peer: str
    "IP address of the other end of the TCP connection"


@dataclass(frozen=True, slots=True)
class UpgradeRefusal:
    """The HTTP answer instead of 101."""

    status: int
    text: str


Admit = Callable[[UpgradeAsk], SocketOwner | UpgradeRefusal]


@dataclass(frozen=True, slots=True)
class SocketDoor:
    """Who lets in the WebSockets of a path, and what each of them may cost."""

    admit: Admit
    limits: SocketLimits = field(default_factory=SocketLimits)


class _MediaProtocol(WSProtocol):  # type: ignore[misc]
    """picows on a connection that uvicorn accepted."""

    def __init__(self, door: SocketDoor, connections: set[Any]) -> None:
        limits = door.limits

        def choose(request: WSUpgradeRequest) -> WSListener | WSUpgradeResponseWithListener:
            answer = door.admit(self._ask(request))
            if isinstance(answer, UpgradeRefusal):
                refusal = WSUpgradeResponse.create_error_response(
                    answer.status, answer.text.encode()
                )
                return WSUpgradeResponseWithListener(refusal, None)
            return MediaSocket(answer, limits)

        super().__init__(
            host_port=None,
            ws_path=None,
            is_client_side=False,
            ws_listener_factory=choose,
            logger=_SILENT,
            disconnect_on_exception=True,
            websocket_handshake_timeout=None,  # the request is already here
            enable_auto_ping=False,  # `MediaSocket` watches, without a task
            auto_ping_idle_timeout=0,
            auto_ping_reply_timeout=0,
            auto_ping_strategy=WSAutoPingStrategy.PING_WHEN_IDLE,
            enable_auto_pong=True,
            max_frame_size=limits.max_message,
            extra_headers=None,
            read_buffer_init_size=4096,  # ten media messages; grows if it must
        )
        self._connections = connections
        self._unsent = limits.max_unsent
        self._tcp: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._tcp = transport
        self._connections.add(self)
        # The kernel would take megabytes, minutes of sound, for a peer that does not read.
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, self._unsent
        )
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        super().connection_lost(exc)
        self._tcp = None

    def data_received(self, data: bytes) -> None:
        """Take bytes that were read before this object became the transport's protocol."""
        left = memoryview(data)
        while left and self._tcp is not None and not self._tcp.is_closing():
            room = self.get_buffer(-1)
            size = min(len(room), len(left))
            room[:size] = left[:size]
            self.buffer_updated(size)
            left = left[size:]

    def shutdown(self) -> None:
        """Let the call end by itself: uvicorn waits for it, within its own bound."""

    def _ask(self, request: WSUpgradeRequest) -> UpgradeAsk:
        assert self._tcp is not None
        target = urlsplit(request.path.decode("latin-1"))
        peer = self._tcp.get_extra_info("peername")
        return UpgradeAsk(
            path=target.path,
            query=target.query,
            headers=request.headers,
            peer=peer[0] if isinstance(peer, tuple) else "",
        )


class _Switch(asyncio.Protocol):
    """Holds a connection from uvicorn's hand-over until the path is read."""

    def __init__(self, upgrades: Upgrades, connections: set[Any]) -> None:
        self._upgrades = upgrades
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._chosen: _MediaProtocol | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._chosen is None:
            self._chosen = _MediaProtocol(self._upgrades.door(data), self._connections)
            self._chosen.connection_made(self._transport)
            # uvicorn makes this object the protocol after this call; take its place right after.
            loop = asyncio.get_running_loop()
            loop.call_soon(self._step_aside)
        self._chosen.data_received(_without_other_connection_options(data))

    def _step_aside(self) -> None:
        assert self._transport is not None
        assert self._chosen is not None
        if not self._transport.is_closing():
            self._transport.set_protocol(self._chosen)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._chosen is not None:
            self._chosen.connection_lost(exc)


class Upgrades:
    """What `uvicorn.Config(ws=...)` is given."""

    def __init__(self, doors: Mapping[str, SocketDoor]) -> None:
        """Serve each path by its door; there is nothing on any other."""
        self._doors = {path.encode(): door for path, door in doors.items()}

    def __call__(
        self, config: Any, server_state: Any, app_state: Any, _loop: object = None
    ) -> asyncio.Protocol:
        return _Switch(self, server_state.connections)

    def door(self, head: bytes) -> SocketDoor:
        """Find the door that an upgrade request asks for."""
        return self._doors.get(head.split(b" ", 2)[1].partition(b"?")[0], _NOTHING)


def _nothing_here(_ask: UpgradeAsk) -> UpgradeRefusal:
    return UpgradeRefusal(404, "no WebSocket here")


_NOTHING = SocketDoor(_nothing_here)


def _without_other_connection_options(head: bytes) -> bytes:
    """Leave `upgrade` as the only option: picows refuses the lists that proxies send."""
    lines = head.split(b"\r\n")
    return b"\r\n".join(
        b"connection: Upgrade" if line[:11].lower() == b"connection:" else line for line in lines
    )
