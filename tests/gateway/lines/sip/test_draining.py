"""What proxies are told when no more calls are answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.peers.sip.harness import served

pytestmark = pytest.mark.real_time

OPTIONS = (
    "OPTIONS sip:gateway@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{n}"
    "\r\nFrom: <sip:proxy@127.0.0.1>;tag=1\r\nTo: <sip:gateway@127.0.0.1>\r\nCall-ID: ping{n}\r\n"
    "CSeq: {n} OPTIONS\r\nMax-Forwards: 9\r\nContent-Length: 0\r\n\r\n"
)


class Pinging(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answers: asyncio.Queue[str] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.answers.put_nowait(data.decode())


async def test_a_gateway_that_drains_answers_pings_with_503() -> None:
    async with served() as it:
        loop = asyncio.get_running_loop()
        transport, pinging = await loop.create_datagram_endpoint(
            Pinging, local_addr=("127.0.0.1", 0), remote_addr=("127.0.0.1", it.port)
        )
        port = transport.get_extra_info("sockname")[1]
        transport.sendto(OPTIONS.format(port=port, n=1).encode())
        assert (await pinging.answers.get()).startswith("SIP/2.0 200 ")
        it.line.drain()
        transport.sendto(OPTIONS.format(port=port, n=2).encode())
        answer = await pinging.answers.get()
        transport.close()
    assert answer.startswith("SIP/2.0 503 ")
    assert "Retry-After: 30\r\n" in answer
