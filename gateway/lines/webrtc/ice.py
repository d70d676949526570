"""ICE as far as this gateway takes part in it: configured addresses only, no look-ups, no queue.

The connectivity checks are aioice's.
What is put in its place are the sockets (only addresses that are meant to be seen, from a range of
ports) and the way of what arrives: it is handed on at once, in the callback that received it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import random
import socket
from collections.abc import Callable, Sequence
from typing import Any

from aioice import Candidate, Connection
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import CandidatePair, StunProtocol
from aioice.stun import Message

from gateway.lines.webrtc.offer import IceParameters

BUFFER_BYTES = 262144
"""Of a socket: two seconds of sound, when the process stood still."""

TRIES = 50
"""Ports of the range that are tried before the gateway counts as full."""

Hosts = Sequence[tuple[str, str]]
"""Addresses to offer, each with the one to bind."""


def offered(host: str) -> tuple[str, ...]:
    """Return the addresses to offer a browser whose request came to `host`.

    Firefox has no way from this machine to itself by its loopback address, and one by another.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (host,)
    if not address.is_loopback:
        return (host,)
    outside = outward(address.version)
    return (host, outside) if outside and outside != host else (host,)


def outward(version: int) -> str:
    """Return the address by which this machine reaches others; empty where it reaches none."""
    family, far = (
        (socket.AF_INET, "192.0.2.1") if version == 4 else (socket.AF_INET6, "2001:db8::1")
    )
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((far, 9))  # finds a route and sends nothing
        except OSError:
            return ""
        return str(probe.getsockname()[0])


class _Protocol(StunProtocol):
    """One socket: sound and DTLS pass by the reader of STUN."""

    def __init__(self, agent: Ice) -> None:
        super().__init__(agent)
        self._arrived = agent.arrived
        self._took = agent.took

    async def request(self, request: Message, *args: Any, **kwargs: Any) -> tuple[Message, Any]:
        """Ask, and note how long the answer took."""
        asked = asyncio.get_running_loop().time()
        answer = await super().request(request, *args, **kwargs)
        self._took(asyncio.get_running_loop().time() - asked)
        return answer

    def datagram_received(self, data: bytes | str, addr: tuple[str, int]) -> None:
        """Tell the protocols apart by the first byte (RFC 7983, section 7)."""
        if isinstance(data, bytes) and data and data[0] > 3:
            self._arrived(data)
        else:
            super().datagram_received(data, addr)


CANDIDATES_MOST = 50
"""Of the far side, in one agent's life; a browser with many networks has some ten. Each makes a
pair that is checked again and again, so that thousands from one page would stop every call."""


class Ice(Connection):
    """One agent, for one connection or one restart of it."""

    def __init__(
        self,
        hosts: Hosts,
        ports: tuple[int, int],
        arrived: Callable[[bytes], None],
        alive: Callable[[], None],
    ) -> None:
        """`arrived` takes what is no STUN, `alive` is told of authenticated checks."""
        super().__init__(ice_controlling=False)
        self.arrived = arrived
        self._alive = alive
        self._hosts = hosts
        self._ports = ports
        self._learned: set[str] = set()
        self.round_trip: float | None = None
        "seconds; the shortest, since a check that had to be sent again says too much"

    def took(self, seconds: float) -> None:
        """Take how long the answer to a check took."""
        self.round_trip = min(seconds, self.round_trip or seconds)

    async def open(self) -> IceParameters:
        """Open the sockets and say how to reach them; raises OSError where none could be had."""
        await self.gather_candidates()
        if not self.local_candidates:
            wanted = ", ".join(local for _, local in self._hosts)
            raise OSError(f"no UDP port is to be had on {wanted}")
        places = tuple(one.to_sdp() for one in self.local_candidates)
        return IceParameters(self.local_username, self.local_password, places)

    async def check(self, remote: IceParameters) -> None:
        """Run the checks until a pair is chosen; raises ConnectionError when none can be."""
        self.remote_username, self.remote_password = remote.ufrag, remote.password
        for text in remote.candidates:
            await self.learn(text)
        await self.connect()

    async def learn(self, text: str) -> None:
        """Take a candidate of the far side.

        Names are not looked up: they are those of the visitor's own network, and the visitor's
        checks tell the address anyway.
        One that is known already, and any past the bound, is passed over.
        """
        if text in self._learned or len(self._learned) >= CANDIDATES_MOST:
            return
        self._learned.add(text)
        try:
            candidate = Candidate.from_sdp(text)
        except (ValueError, IndexError, AssertionError):
            return
        if candidate.transport.lower() == "udp" and not candidate.host.endswith(".local"):
            await self.add_remote_candidate(candidate)

    def send_now(self, data: bytes) -> None:
        """Send a datagram to the chosen pair; nothing is sent while there is none."""
        pair: CandidatePair | None = self._nominated.get(1)
        if pair is not None:
            pair.protocol.transport.sendto(data, pair.remote_addr)

    @property
    def chosen(self) -> bool:
        """Whether a pair is chosen."""
        return bool(self._nominated)

    # --- in the place of aioice's own ----------------------------------------------------------

    async def get_component_candidates(
        self, component: int, addresses: list[str], timeout: int = 5
    ) -> list[Candidate]:
        """Open a socket on each configured address."""
        candidates: list[Candidate] = []
        for public, local in self._hosts:
            protocol = await self._bind(local)
            if protocol is None:
                continue
            port = protocol.transport.get_extra_info("sockname")[1]
            protocol.local_candidate = Candidate(
                foundation=candidate_foundation("host", "udp", public),
                component=component,
                transport="udp",
                priority=candidate_priority(component, "host", 65535 - len(candidates)),
                host=public,
                port=port,
                type="host",
            )
            candidates.append(protocol.local_candidate)
            self._protocols.append(protocol)
        return candidates

    def data_received(self, data: bytes, component: int) -> None:
        """Drop what looked like STUN and is none; aioice would queue it, without a bound."""

    def check_incoming(
        self, message: Message, addr: tuple[str, int], protocol: StunProtocol
    ) -> None:
        """Take a check that was authenticated."""
        self._alive()
        super().check_incoming(message, addr, protocol)

    async def _bind(self, local: str) -> StunProtocol | None:
        loop = asyncio.get_running_loop()
        low, high = self._ports
        tries = range(low, high + 1)
        for port in random.sample(tries, min(TRIES, len(tries))):
            try:
                transport, protocol = await loop.create_datagram_endpoint(
                    lambda: _Protocol(self), local_addr=(local, port)
                )
            except OSError:
                continue
            opened = transport.get_extra_info("socket")
            if opened is not None:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            return protocol
        return None
