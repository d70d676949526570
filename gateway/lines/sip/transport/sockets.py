"""Sockets that carry SIP: UDP, TCP and TLS, and the connections that are used again.

Nothing here reads a message: it frames, guards and hands on.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from gateway.lines.sip.message.framing import Framer, Ping
from gateway.lines.sip.transactions.hop import Hop, Transport
from gateway.lines.sip.transactions.matching import Key
from gateway.lines.sip.transport.guard import Guard
from gateway.plumbing.starting import cannot_listen

Receive = Callable[[bytes, Hop], None]
Broke = Callable[[Key | None], None]

CONNECT_SECONDS = 5.0
"""How long a TCP or TLS connection may take to come up; then the next address is tried."""
IDLE_SECONDS = 600.0
"""Connections without traffic are closed then; RFC 5626 pings every two minutes at most."""
STALLED_SECONDS = 10.0
"""A message that has begun must be whole by then."""
PING_SECONDS = 100.0
"""RFC 5626, section 4.4.1: connections we opened are kept alive every 95 to 120 s."""
GOODBYE_SECONDS = 0.5
"""How long connections get to take the last messages when the line closes."""
MAX_WAITING = 64
"""Messages that wait for one connection to come up."""
MAX_BUFFER = 262_144
"""Bytes that a far side may leave unread before its connection is given up."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A listening socket."""

    transport: Transport
    host: str
    port: int


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, owner: Transports) -> None:
        self._owner = owner

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        owner = self._owner
        if not owner.guard.admits(addr[0], owner.loop.time()):
            return
        if len(data) <= 4 and not data.strip(b"\r\n\0"):
            return  # a keep-alive (RFC 5626, section 4.4.1, and what others send)
        owner.receive(data, Hop("udp", addr[0], addr[1]))

    def error_received(self, exc: Exception) -> None:
        """Ignore ICMP errors: the transaction's timer decides."""


class _Stream(asyncio.Protocol):
    """One TCP or TLS connection."""

    def __init__(self, owner: Transports, transport: Transport, ours: bool) -> None:
        self._owner = owner
        self._kind: Transport = transport
        self._ours = ours
        self._framer = Framer()
        self._socket: asyncio.Transport | None = None
        self._admitted = False
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0.0
        self._begun: float | None = None
        "when the message began of which there is only a part"
        self.hop: Hop | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername") or ("", 0)
        if not self._ours and not self._owner.guard.connected(peer[0]):
            self._socket.abort()
            return
        self._admitted = not self._ours
        self.hop = self._owner.opened(self, self._kind, peer[0], peer[1])
        self._last = self._owner.loop.time()
        self._arm()

    def data_received(self, data: bytes) -> None:
        assert self.hop is not None
        self._last = self._owner.loop.time()
        try:
            items = self._framer.feed(data)
        except ValueError:
            self.close()
            return
        if items or not self._framer.partial:
            self._begun = None
        if self._framer.partial and self._begun is None:
            self._begun = self._last
        for item in items:
            if isinstance(item, Ping):
                self.write(b"\r\n")
            elif self._ours or self._owner.guard.admits(self.hop.host, self._last):
                self._owner.receive(item, self.hop)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.hop is not None:
            self._owner.closed(self, self.hop)
            if self._admitted:
                self._owner.guard.disconnected(self.hop.host)

    def write(self, data: bytes) -> bool:
        """Send; False when the connection is of no use."""
        socket = self._socket
        if socket is None or socket.is_closing():
            return False
        if socket.get_write_buffer_size() > MAX_BUFFER:
            socket.abort()
            return False
        socket.write(data)
        return True

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()

    def abort(self) -> None:
        """Close the connection without waiting for what is still to be sent."""
        if self._socket is not None:
            self._socket.abort()

    def _arm(self) -> None:
        self._timer = self._owner.loop.call_later(STALLED_SECONDS, self._look)

    def _look(self) -> None:
        now = self._owner.loop.time()
        idle = now - self._last
        # By its beginning: a message that comes a byte at a time would never be late otherwise.
        stalled = self._begun is not None and now - self._begun >= STALLED_SECONDS
        if idle >= IDLE_SECONDS or stalled:
            self.close()
            return
        if self._ours and idle >= PING_SECONDS:
            self.write(b"\r\n\r\n")
        self._arm()


class Transports:
    """All sockets of one SIP line."""

    def __init__(self, receive: Receive, broke: Broke, guard: Guard) -> None:
        self.receive = receive
        self.guard = guard
        self.bound: list[Bound] = []
        self._broke = broke
        self._udp: asyncio.DatagramTransport | None = None
        self._servers: list[asyncio.Server] = []
        self._streams: dict[int, _Stream] = {}
        self._by_address: dict[tuple[Transport, str, int], int] = {}
        self._waiting: dict[tuple[Transport, str, int], list[tuple[bytes, Key | None]]] = {}
        self._count = 0
        self._make_client_tls: Callable[[], ssl.SSLContext] = ssl.create_default_context
        self._client_tls: ssl.SSLContext | None = None
        self._group: asyncio.TaskGroup | None = None
        self.loop = asyncio.get_running_loop()

    async def open(
        self,
        group: asyncio.TaskGroup,
        host: str,
        *,
        udp: int | None,
        tcp: int | None,
        tls: int | None,
        server_tls: ssl.SSLContext | None,
        client_tls: Callable[[], ssl.SSLContext],
    ) -> None:
        """Bind; raises StartFailed when an address is taken.

        `client_tls` is called in a thread, before the first connection by TLS: reading the
        system's authorities takes 20 ms.
        """
        self._group, self._make_client_tls = group, client_tls
        if udp is not None:
            try:
                socket, _ = await self.loop.create_datagram_endpoint(
                    lambda: _Datagrams(self), local_addr=(host, udp)
                )
            except OSError as error:
                raise cannot_listen("sip.host and sip.udp", host, udp, error) from None
            self._udp = socket
            self._note("udp", socket.get_extra_info("sockname"))
        for kind, port in (("tcp", tcp), ("tls", tls)):
            if port is not None:
                await self._listen(cast(Transport, kind), host, port, server_tls)

    async def _listen(
        self, kind: Transport, host: str, port: int, context: ssl.SSLContext | None
    ) -> None:
        try:
            server = await self.loop.create_server(
                lambda: _Stream(self, kind, ours=False),
                host,
                port,
                ssl=context if kind == "tls" else None,
                ssl_handshake_timeout=CONNECT_SECONDS if kind == "tls" else None,
            )
        except OSError as error:
            raise cannot_listen(f"sip.host and sip.{kind}", host, port, error) from None
        self._servers.append(server)
        self._note(kind, server.sockets[0].getsockname())

    def _note(self, kind: Transport, name: tuple[Any, ...]) -> None:
        self.bound.append(Bound(kind, name[0], name[1]))

    async def close(self) -> None:
        """Close everything."""
        for server in self._servers:
            server.close()
        for stream in list(self._streams.values()):
            stream.close()
        if self._udp is not None:
            self._udp.close()
        until = self.loop.time() + GOODBYE_SECONDS
        while self._streams and self.loop.time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for stream in list(self._streams.values()):
            stream.abort()
        await asyncio.sleep(0)  # connections are lost on the next turn of the loop

    # --- connections

    def opened(self, stream: _Stream, kind: Transport, host: str, port: int) -> Hop:
        """Take a connection into use."""
        self._count += 1
        self._streams[self._count] = stream
        self._by_address[kind, host, port] = self._count
        return Hop(kind, host, port, self._count)

    def closed(self, stream: _Stream, hop: Hop) -> None:
        """Forget a connection."""
        self._streams.pop(hop.connection, None)
        address = (hop.transport, hop.host, hop.port)
        if self._by_address.get(address) == hop.connection:
            del self._by_address[address]

    # --- sending

    def send(self, data: bytes, hop: Hop, owner: Key | None) -> None:
        """Send to a hop; `broke(owner)` is called when that cannot be, not before this returns."""
        if not data.startswith(b"SIP/2.0"):  # a request, whose answer is to be heard
            self.guard.asked(hop.host, self.loop.time())
        if hop.transport == "udp":
            if self._udp is None:
                self.loop.call_soon(self._broke, owner)
            else:
                self._udp.sendto(data, (hop.host, hop.port))
            return
        address = (hop.transport, hop.host, hop.port)
        for number in (hop.connection, self._by_address.get(address, 0)):
            stream = self._streams.get(number)
            if stream is not None and stream.write(data):
                return
        waiting = self._waiting.get(address)
        if waiting is not None:
            if len(waiting) < MAX_WAITING:
                waiting.append((data, owner))
            else:
                self.loop.call_soon(self._broke, owner)
        elif self._group is not None:
            self._waiting[address] = [(data, owner)]
            self._group.create_task(self._connect(hop))

    async def _connect(self, hop: Hop) -> None:
        address = (hop.transport, hop.host, hop.port)
        stream: _Stream | None = None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if hop.transport == "tls" and self._client_tls is None:
                    self._client_tls = await asyncio.to_thread(self._make_client_tls)
                _, stream = await self.loop.create_connection(
                    lambda: _Stream(self, hop.transport, ours=True),
                    hop.host,
                    hop.port,
                    ssl=self._client_tls if hop.transport == "tls" else None,
                    server_hostname=(hop.name or hop.host) if hop.transport == "tls" else None,
                )
        except OSError:  # TimeoutError and ssl.SSLError are OSErrors
            pass
        for data, owner in self._waiting.pop(address, ()):
            if stream is None or not stream.write(data):
                self._broke(owner)
