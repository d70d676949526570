"""Every SIP method against strangers, over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.gateway.lines.sip.test_line import end

pytestmark = pytest.mark.real_time

METHODS = (
    "INVITE", "OPTIONS", "REGISTER", "REFER", "MESSAGE", "SUBSCRIBE", "NOTIFY", "PUBLISH", "INFO",
    "BYE", "UPDATE", "PRACK", "ACK", "CANCEL", "FOO",
)  # fmt: skip

SDP = (
    "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
    "m=audio 9 RTP/AVP 0\r\n"
)


class Ear(asyncio.DatagramProtocol):
    """Keeps the last answer."""

    def __init__(self) -> None:
        self.codes: list[int] = []

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.codes.append(int(data.split(b" ", 2)[1]))


def message(method: str, target: int, port: int, extra: str) -> bytes:
    body = SDP if method == "INVITE" else ""
    kind = "Content-Type: application/sdp\r\n" if body else ""
    return (
        f"{method} sip:+19005550123@127.0.0.1:{target} SIP/2.0\r\n"
        f"Via: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{method};rport\r\n"
        f"From: <sip:owner@127.0.0.1>;tag=1\r\nTo: <sip:+19005550123@127.0.0.1>\r\n"
        f"Call-ID: {method}\r\nCSeq: 1 {method}\r\nMax-Forwards: 70\r\n"
        f"Contact: <sip:me@127.0.0.1:{port}>\r\nRefer-To: <sip:+19005550123@premium.example>\r\n"
        f"{extra}{kind}Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def answers(target: int, method: str, extra: str = "") -> list[int]:
    """Send one request, and give the codes that come back within a moment."""
    loop = asyncio.get_running_loop()
    transport, ear = await loop.create_datagram_endpoint(Ear, local_addr=("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    transport.sendto(message(method, target, port, extra), ("127.0.0.1", target))
    await asyncio.sleep(0.15)
    transport.close()
    return ear.codes


@pytest.mark.parametrize("method", METHODS)
async def test_an_address_that_nobody_named_is_not_answered(method: str) -> None:
    async with end(allow=("203.0.113.0/24",)) as near:
        assert await answers(near.port, method) == []
        assert not near.parties.all


FORGED = (
    'Authorization: Digest username="alice", realm="desk", nonce="n", uri="sip:x", response="0"\r\n'
)


@pytest.mark.parametrize("extra", ["", FORGED], ids=["nothing", "forged"])
@pytest.mark.parametrize("method", METHODS)
async def test_who_is_heard_and_proves_nothing_begins_nothing(method: str, extra: str) -> None:
    async with end(users={"alice": "secret"}, domain="desk", accept_refer="always") as near:
        codes = await answers(near.port, method, extra)
        finals = [code for code in codes if code >= 200]
        assert not near.parties.all
        if method == "INVITE":
            assert set(finals) == {401}
        elif method == "ACK":
            assert not finals
        elif method == "OPTIONS":
            assert set(finals) == {200}
        else:
            assert finals
            assert min(finals) >= 400
