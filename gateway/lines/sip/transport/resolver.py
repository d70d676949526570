"""Where a name leads: NAPTR, SRV and address records (RFC 3263), asked through dnspython."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable

import dns.asyncresolver
import dns.exception
import dns.rdatatype
import dns.resolver

from gateway.lines.sip.message.address import bare_host, ip_of, parse_uri
from gateway.lines.sip.transactions.hop import DEFAULT_PORT, Hop, Transport
from gateway.lines.sip.transactions.routing import transport_of

LOOKUP_SECONDS = 4.0
"""For one name in all; a call that waits longer for a name feels dead."""
MAX_HOPS = 8

_SERVICES: dict[str, Transport] = {"SIP+D2U": "udp", "SIP+D2T": "tcp", "SIPS+D2T": "tls"}
_PREFIXES: dict[Transport, str] = {"udp": "_sip._udp.", "tcp": "_sip._tcp.", "tls": "_sips._tcp."}


class Resolver:
    """Turns URIs into hops."""

    def __init__(
        self,
        transports: Iterable[Transport],
        resolver: dns.asyncresolver.Resolver | None = None,
    ) -> None:
        """Take the transports we can send over; `resolver` None: as the system has it."""
        self._transports = tuple(transports)
        self._resolver = resolver

    async def hops(self, uri: str) -> tuple[Hop, ...]:
        """Return the hops of a URI in the order to try them; none when the name leads nowhere."""
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                return (await self._hops(uri))[:MAX_HOPS]
        except (OSError, ValueError, dns.exception.DNSException):
            return ()

    async def _hops(self, uri: str) -> tuple[Hop, ...]:
        parsed = parse_uri(uri)
        wanted = transport_of(parsed)
        host = bare_host(parsed.host).rstrip(".")
        if parsed.port is not None or ip_of(host) is not None:
            # RFC 3263, section 4.2: with a port, only the address is asked for.
            transport: Transport = wanted or "udp"
            port = parsed.port or DEFAULT_PORT[transport]
            return await self._addresses(transport, host, port, host)
        services = await self._services(host, wanted)
        hops: list[Hop] = []
        for transport, name in services:
            for target, port in await self._srv(name):
                hops += await self._addresses(transport, target, port, host)
        if hops:
            return tuple(hops)
        transport = wanted or "udp"
        return await self._addresses(transport, host, DEFAULT_PORT[transport], host)

    async def _services(self, host: str, wanted: Transport | None) -> list[tuple[Transport, str]]:
        """Return transports and the SRV names to ask for (RFC 3263, section 4.1)."""
        if wanted is not None:
            return [(wanted, _PREFIXES[wanted] + host)]
        try:
            answer = await self._ask(host, dns.rdatatype.NAPTR)
        except (dns.resolver.NoAnswer, dns.resolver.NXDOMAIN, dns.resolver.NoNameservers):
            return [(kind, _PREFIXES[kind] + host) for kind in self._transports]
        records = sorted(answer, key=lambda record: (record.order, record.preference))
        found: list[tuple[Transport, str]] = []
        for record in records:
            transport = _SERVICES.get(record.service.decode("ascii", "replace").upper())
            if transport in self._transports and record.flags.lower() == b"s":
                found.append((transport, str(record.replacement).rstrip(".")))
        return found or [(kind, _PREFIXES[kind] + host) for kind in self._transports]

    async def _srv(self, name: str) -> list[tuple[str, int]]:
        try:
            answer = await self._ask(name, dns.rdatatype.SRV)
        except (dns.resolver.NoAnswer, dns.resolver.NXDOMAIN, dns.resolver.NoNameservers):
            return []
        # Heavier ones first: without chance, retries walk through all of them (RFC 2782).
        records = sorted(answer, key=lambda record: (record.priority, -record.weight))
        return [(str(record.target).rstrip("."), record.port) for record in records]

    async def _ask(self, name: str, kind: dns.rdatatype.RdataType) -> dns.resolver.Answer:
        resolver = self._resolver or dns.asyncresolver.get_default_resolver()
        return await resolver.resolve(name, kind)

    async def _addresses(
        self, transport: Transport, host: str, port: int, name: str
    ) -> tuple[Hop, ...]:
        """Ask for addresses as the system does, so that its hosts file counts too."""
        if ip_of(host) is not None:
            return (Hop(transport, host, port, name=name),)
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = dict.fromkeys(str(info[4][0]) for info in found)
        return tuple(Hop(transport, address, port, name=name) for address in addresses)
