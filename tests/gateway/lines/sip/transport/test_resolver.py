"""Names: NAPTR, SRV and addresses, asked of a name server on the loopback."""

from __future__ import annotations

import asyncio
from typing import Any

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rrset

from gateway.lines.sip.transactions.hop import Hop
from gateway.lines.sip.transport.resolver import Resolver

ZONE: dict[tuple[str, str], list[str]] = {
    ("full.test.", "NAPTR"): [
        '50 50 "s" "SIP+D2U" "" _sip._udp.full.test.',
        '10 50 "s" "SIPS+D2T" "" _sips._tcp.full.test.',
        '90 50 "s" "E2U+sip" "" nothing.test.',
    ],
    ("_sips._tcp.full.test.", "SRV"): ["10 10 5061 127.0.0.2."],
    ("_sip._udp.full.test.", "SRV"): ["20 10 5070 127.0.0.4.", "10 10 5060 127.0.0.3."],
    ("_sip._udp.plain.test.", "SRV"): ["10 10 5080 127.0.0.5."],
}


class Server(asyncio.DatagramProtocol):
    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        asked = dns.message.from_wire(data)
        question = asked.question[0]
        kind = dns.rdatatype.to_text(question.rdtype)
        answer = dns.message.make_response(asked)
        found = ZONE.get((str(question.name), kind))
        if found is None:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        else:
            answer.answer.append(dns.rrset.from_text_list(question.name, 60, "IN", kind, found))
        self._transport.sendto(answer.to_wire(), addr)


def resolved(uri: str, kinds: Any = ("tls", "udp", "tcp")) -> tuple[Hop, ...]:
    async def work() -> tuple[Hop, ...]:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(Server, local_addr=("127.0.0.1", 0))
        ask = dns.asyncresolver.Resolver(configure=False)
        ask.nameservers = ["127.0.0.1"]
        ask.port = transport.get_extra_info("sockname")[1]
        ask.lifetime = 2.0
        try:
            return await Resolver(kinds, ask).hops(uri)
        finally:
            transport.close()
            await asyncio.sleep(0)

    return asyncio.run(work())


def places(hops: tuple[Hop, ...]) -> list[tuple[str, str, int]]:
    return [(hop.transport, hop.host, hop.port) for hop in hops]


def test_what_the_domain_prefers_comes_first() -> None:
    hops = resolved("sip:a@full.test")
    assert places(hops) == [
        ("tls", "127.0.0.2", 5061),
        ("udp", "127.0.0.3", 5060),
        ("udp", "127.0.0.4", 5070),
    ]
    assert {hop.name for hop in hops} == {"full.test"}


def test_transports_we_have_not_are_left_out() -> None:
    assert places(resolved("sip:a@full.test", ("udp",))) == [
        ("udp", "127.0.0.3", 5060),
        ("udp", "127.0.0.4", 5070),
    ]


def test_without_naptr_the_services_are_asked_for() -> None:
    assert places(resolved("sip:a@plain.test")) == [("udp", "127.0.0.5", 5080)]


def test_a_transport_that_is_named_is_kept() -> None:
    assert places(resolved("sip:a@full.test;transport=udp"))[0] == ("udp", "127.0.0.3", 5060)


def test_a_port_means_no_service() -> None:
    assert places(resolved("sip:a@localhost:5099")) == [("udp", "127.0.0.1", 5099)]


def test_a_name_that_leads_nowhere() -> None:
    assert resolved("sip:a@nowhere.invalid") == ()
    assert resolved("nonsense") == ()
