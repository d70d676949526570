"""Accounts that are kept registered, against a registrar that is a socket."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import cast

from gateway.lines.port import Standing
from gateway.lines.sip.line import SipLine
from gateway.lines.sip.message.message import Request, Response, parse
from gateway.lines.sip.settings import SipSettings, TrunkSettings
from tests.support.owner import DOORS
from tests.support.sip_answers import Parties


@dataclass
class Registrar(asyncio.DatagramProtocol):
    """Says yes to everybody, or no."""

    code: int = 200
    asked: list[str] = field(default_factory=list)
    "the lifetimes that were asked for"
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        request = parse(data)
        assert isinstance(request, Request)
        self.asked.append(request.headers.get("Expires") or "")
        response = Response(self.code, "As you wish")
        for name in ("Via", "From", "To", "Call-ID", "CSeq", "Contact"):
            response.headers.set(name, request.headers.get(name) or "")
        self.transport.sendto(response.encode(), addr)
        self.heard.set()

    async def hears(self) -> None:
        """Wait until somebody asks, and until the answer is there."""
        self.heard.clear()
        await self.heard.wait()
        await asyncio.sleep(0.1)


async def registered(registrar: Registrar) -> SipLine:
    """Make a line that is to be registered."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: registrar, ("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    trunk = TrunkSettings(f"sip:127.0.0.1:{port}", username="we", register=True)
    settings = SipSettings(host="127.0.0.1", udp=0, tcp=None, trunks={"pbx": trunk})
    return SipLine(settings, Parties(), DOORS)


async def test_draining_takes_registrations_back_once() -> None:
    registrar = Registrar()
    line = await registered(registrar)
    async with asyncio.TaskGroup() as group:
        group.create_task(line.run(lambda: None))
        await registrar.hears()
        assert line.standing() == Standing("ready", "UDP 0")
        line.drain()
        await registrar.hears()
        assert registrar.asked == ["300", "0"]
        line.stop()
    registrar.transport.close()
    assert registrar.asked == ["300", "0"]


async def test_a_trunk_that_refuses_us_is_in_the_standing_of_the_line() -> None:
    registrar = Registrar(403)
    line = await registered(registrar)
    async with asyncio.TaskGroup() as group:
        group.create_task(line.run(lambda: None))
        await registrar.hears()
        assert line.standing() == Standing("note", "UDP 0; pbx: failed", unregistered=1)
        line.stop()
    registrar.transport.close()
