"""Paths that break: relays on real sockets that drop, delay, reorder, stand still and move.

What a path does is drawn from a seed, so that a run that fails can be had again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any, Literal

HOME = "127.0.0.1"
Address = tuple[str, int]
Way = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Seconds of a relay's time in which nothing passes: datagrams are lost, a connection waits."""

    begins: float
    ends: float
    ways: tuple[Way, ...] = ("up", "down")


@dataclass
class Weather:
    """What a path does to what passes; `up` is towards the gateway."""

    random: Random = field(default_factory=lambda: Random(0))
    delay: float = 0.02
    "seconds one way"
    jitter: float = 0.0
    "up to so much more"
    loss: float = 0.0
    "share of datagrams"
    reorder: float = 0.0
    "share of datagrams that come 30 ms late, behind others"
    gaps: tuple[Gap, ...] = ()
    began: float = inf

    def begin(self) -> None:
        """Be bad from now on: the call is up."""
        self.began = asyncio.get_running_loop().time()

    def gap(self, way: Way) -> float:
        """Return for how many seconds from now nothing passes."""
        now = asyncio.get_running_loop().time() - self.began
        there = (g.ends - now for g in self.gaps if way in g.ways and g.begins <= now < g.ends)
        return max(there, default=0.0)

    def fate(self, way: Way) -> float | None:
        """Return after how many seconds a datagram arrives; None: never."""
        if asyncio.get_running_loop().time() < self.began:
            return self.delay
        if self.gap(way) or self.random.random() < self.loss:
            return None
        late = 0.03 if self.random.random() < self.reorder else 0.0
        return self.delay + self.random.uniform(0.0, self.jitter) + late


class _End(asyncio.DatagramProtocol):
    def __init__(self, relay: UdpRelay, way: Way) -> None:
        self._relay = relay
        self._way: Way = way

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self._relay.take(data, addr, self._way)


class UdpRelay:
    """Stands between a far end, which sends to `front`, and the gateway, which sees `back`."""

    def __init__(self, weather: Weather) -> None:
        self.weather = weather
        self.gateway: Address | None = None
        self.far: Address | None = None
        "where the far end is; learned from what it sends"
        self._front: Any = None
        self._backs: list[Any] = []

    async def open(self) -> None:
        """Open both sockets."""
        loop = asyncio.get_running_loop()
        self._front, _ = await loop.create_datagram_endpoint(
            lambda: _End(self, "up"), local_addr=(HOME, 0)
        )
        await self.move()

    async def move(self) -> None:
        """Let the far end's address be another one from now on, as of a phone that changes nets."""
        loop = asyncio.get_running_loop()
        back, _ = await loop.create_datagram_endpoint(
            lambda: _End(self, "down"), local_addr=(HOME, 0)
        )
        for old in self._backs:
            old.close()  # nothing that is sent to the old address reaches anybody
        self._backs = [back]

    @property
    def front(self) -> int:
        """The port that the far end sends to."""
        port: int = self._front.get_extra_info("sockname")[1]
        return port

    @property
    def back(self) -> int:
        """The port that the gateway sees."""
        port: int = self._backs[-1].get_extra_info("sockname")[1]
        return port

    def take(self, data: bytes, source: Address, way: Way) -> None:
        """Let a datagram pass, or not."""
        if way == "up":
            self.far = source
        after = self.weather.fate(way)
        if after is not None:
            asyncio.get_running_loop().call_later(after, self._pass, data, way)

    def _pass(self, data: bytes, way: Way) -> None:
        to = self.gateway if way == "up" else self.far
        through = self._backs[-1] if way == "up" else self._front
        if to is not None and not through.is_closing():
            through.sendto(data, to)

    def close(self) -> None:
        """Let the sockets go."""
        for one in (self._front, *self._backs):
            one.close()


class TcpRelay:
    """Stands before a port: keeps the order of all bytes, and stands still in the gaps."""

    def __init__(self, weather: Weather, port: int, group: asyncio.TaskGroup) -> None:
        """`port` is the gateway's."""
        self.weather = weather
        self._group = group
        self._gateway = port
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._connected, HOME, 0)

    @property
    def port(self) -> int:
        """The port to connect to in the gateway's place."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _connected(self, far: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        gateway, there = await asyncio.open_connection(HOME, self._gateway)
        self._writers += [back, there]
        for reader, writer, way in ((far, there, "up"), (gateway, back, "down")):
            self._group.create_task(self._pump(reader, writer, way))  # type: ignore[arg-type]

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way
    ) -> None:
        loop, free = asyncio.get_running_loop(), 0.0
        while data := await _read(reader):
            stands = self.weather.gap(way)
            jitter = self.weather.random.uniform(0.0, self.weather.jitter)
            # Timers of one moment fire in no order.
            free = max(free + 1e-6, loop.time() + stands + self.weather.delay + jitter)
            loop.call_at(free, writer.write, data)
        loop.call_at(max(free, loop.time()), writer.close)

    def close(self) -> None:
        """Stop listening, and break what is connected."""
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(65536)
    except ConnectionError:
        return b""
