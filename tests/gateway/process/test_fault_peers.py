"""Peers that do what they like to a running gateway, beside a neighbour's call.

Each cell is one place where a peer's data enters (SIP, RTP, a page's data channel, the HTTP port)
and one kind of fault. A peer can only send, be silent and leave: it raises and blocks nothing, and
has no disk here.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.caller.phone import CallerLine
from gateway.caller.plan import CallPlan
from gateway.caller.sip import SipCaller
from gateway.caller.webrtc import WebrtcCaller
from gateway.lines.rtp.packet import Packet
from gateway.lines.rtp.stream import Datagram
from tests.support.fault_place import Place, standing

pytestmark = [pytest.mark.live, pytest.mark.wide, pytest.mark.real_time]

PLAN = CallPlan(hang_up_after=6.0)

Wrong = Callable[[Any], None]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def sip_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, sip_port: int) -> Iterator[Place]:
    sip = {"enabled": True, "host": "127.0.0.1", "udp": sip_port, "tcp": sip_port}
    sip["media_timeout"] = 8.0
    with standing(tmp_path_factory.mktemp("peers"), {"sip": sip}) as found:
        yield found


async def fails(place: Place, line: CallerLine, wrong: Wrong) -> None:
    """Hold a call in which a peer does what is wrong: it has its end in the log, once."""
    call_id, phone = await place.call("faulty", PLAN, wrong, line)
    lines = await place.lines(phone.known_as or call_id)
    assert [line.event for line in lines].count("call_ended") == 1, wrong.__name__
    assert [line for line in lines if line.event == "fault"] == [], wrong.__name__


def cells(place: Place, line: Callable[[], CallerLine], wrong: tuple[Wrong, ...]) -> list[Any]:
    return [lambda each=each: fails(place, line(), each) for each in wrong]


# --- SIP ---------------------------------------------------------------------------------------


def to_port(far: Any, *messages: bytes) -> None:
    """Send datagrams to where the call was placed."""
    target = far._caller.uri.rpartition(":")[2].partition(";")[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for message in messages:
            one.sendto(message, ("127.0.0.1", int(target)))


def request(method: str, far: Any, **headers: str) -> bytes:
    """Write a request of somebody else, who knows the address alone."""
    fields = {
        "Via": f"SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bK{secrets.token_hex(6)}",
        "From": f"<sip:x@127.0.0.1>;tag={secrets.token_hex(4)}",
        "To": "<sip:faulty@127.0.0.1>",
        "Call-ID": secrets.token_hex(8),
        "CSeq": f"1 {method}",
        "Max-Forwards": "70",
        "Contact": "<sip:x@127.0.0.1:9>",
        **headers,
    }
    lines = [f"{method} {far._caller.uri} SIP/2.0", *(f"{k}: {v}" for k, v in fields.items())]
    return "\r\n".join([*lines, "Content-Length: 0", "", ""]).encode()


def sip_garbage(far: Any) -> None:
    to_port(far, *(os.urandom(400) for _ in range(200)), b"INVITE sip: SIP/2.0\r\n\r\n")


def sip_huge(far: Any) -> None:
    to_port(far, request("OPTIONS", far, Subject="x" * 60_000))
    with socket.create_connection(("127.0.0.1", int(far._caller.uri.rpartition(":")[2]))) as one:
        one.settimeout(3.0)
        try:
            for _ in range(200):
                one.sendall(b"OPTIONS sip:x SIP/2.0\r\nSubject: " + b"x" * 100_000)
        except OSError:
            pass  # it was shown the door


def sip_flood(far: Any) -> None:
    to_port(far, *(request("OPTIONS", far) for _ in range(5_000)))
    to_port(far, *(request("INVITE", far) for _ in range(2_000)))


def sip_disorder(far: Any) -> None:
    """Say BYE, ACK, CANCEL and a 200 to what never was, and all of it to the call that is."""
    call = far._key[0] if isinstance(far._key, tuple) else str(far._key)
    for method in ("BYE", "ACK", "CANCEL", "PRACK", "UPDATE", "NOTIFY"):
        to_port(far, request(method, far), request(method, far, **{"Call-ID": str(call)}))
    to_port(far, b"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKx\r\n"
            b"From: <sip:a@b>;tag=1\r\nTo: <sip:c@d>;tag=2\r\nCall-ID: none\r\n"
            b"CSeq: 7 INVITE\r\nContent-Length: 0\r\n\r\n")  # fmt: skip


def sip_close(far: Any) -> None:
    """Take away everything by which it could be reached, without a word."""
    far._phone.schedule.stop()
    far._sockets.close()


SIP = (sip_garbage, sip_huge, sip_disorder, sip_close, sip_flood)
"""The flood last: from its address nothing is heard for a while."""


async def test_sip(place: Place, sip_port: int) -> None:
    line = SipCaller(f"sip:faulty@127.0.0.1:{sip_port}")
    await place.beside(cells(place, lambda: line, SIP))


# --- RTP ---------------------------------------------------------------------------------------


def to_media(far: Any, *payloads: bytes, rtcp: bool = False) -> None:
    """Send from where the call's own sound comes from, to where it goes."""
    sound = far._sound
    host, port = sound._agreement.remote
    address = (host, port + 1) if rtcp else (host, port)
    for payload in payloads:
        far._sockets.send(Datagram(payload, address, rtcp))


def packet(far: Any, number: int, *, ssrc: int | None = None, size: int = 160) -> bytes:
    sound = far._sound
    whose = sound._ssrc if ssrc is None else ssrc
    kind = sound._agreement.send_type
    return Packet(kind, number & 0xFFFF, number * 160 & 0xFFFFFFFF, whose, bytes(size)).encode()


def rtp_garbage(far: Any) -> None:
    to_media(far, *(os.urandom(1 + n % 300) for n in range(500)))
    to_media(far, *(b"\x80\xc8" + os.urandom(n % 200) for n in range(500)), rtcp=True)


def rtp_huge(far: Any) -> None:
    to_media(far, *(packet(far, n, size=60_000) for n in range(40)))


def rtp_flood(far: Any) -> None:
    to_media(far, *(packet(far, n) for n in range(20_000)))


def rtp_disorder(far: Any) -> None:
    to_media(far, *(packet(far, n * 7919, ssrc=n % 5) for n in range(600)))


def rtp_close(far: Any) -> None:
    """Say goodbye to each source there is (RFC 3550, 6.6), and to some that there are not."""
    ssrc = far._sound._ssrc
    to_media(far, *(b"\x81\xcb\x00\x01" + n.to_bytes(4, "big") for n in (ssrc, 1, 2)), rtcp=True)


def rtp_hang(far: Any) -> None:
    far._phone.schedule.stop()


RTP = (rtp_garbage, rtp_huge, rtp_flood, rtp_disorder, rtp_close, rtp_hang)


async def test_rtp(place: Place, sip_port: int) -> None:
    line = SipCaller(f"sip:faulty@127.0.0.1:{sip_port}")
    await place.beside(cells(place, lambda: line, RTP))


# --- a page ------------------------------------------------------------------------------------


def page_garbage(far: Any) -> None:
    for _ in range(200):
        far._channel.send(os.urandom(200))
        far._channel.send(secrets.token_hex(100))
    far.say({"type": "no such thing", "v": "one"})
    far.say({"type": "played", "rtp": "x", "age_ms": None})


def page_huge(far: Any) -> None:
    far._channel.send('{"v": 1, "type": "text", "text": "' + "x" * 60_000 + '"}')
    far._channel.send("[" * 60_000)


def page_flood(far: Any) -> None:
    for number in range(5_000):
        far.say({"type": "played", "rtp": number, "age_ms": 1.0})


def page_disorder(far: Any) -> None:
    for kind in ("bye", "hello", "end", "text", "keys", "muted", "context"):
        far.say({"type": kind})


def page_close(far: Any) -> None:
    far._channel.close()


def page_hang(far: Any) -> None:
    """Be a page that was frozen: nothing is sent, not even by the network's own checks."""
    far._phone.schedule.stop()
    for one in far.connections():
        for protocol in one._protocols:
            protocol.transport.abort()


PAGE = (page_garbage, page_huge, page_flood, page_disorder, page_close, page_hang)


async def test_pages(place: Place) -> None:
    line = WebrtcCaller(f"{place.running.address}/webrtc/faulty")
    await place.beside(cells(place, lambda: line, PAGE))


# --- the HTTP port -----------------------------------------------------------------------------

HEAD = b"POST /twilio/voice HTTP/1.1\r\nHost: x\r\n"


async def port(place: Place, name: str) -> None:
    """Do to the HTTP port what is wrong; afterwards a call is answered as ever."""
    parts = urlsplit(place.running.address)
    assert parts.hostname is not None
    many = {"hang": 200, "flood": 60}.get(name, 5)

    async def one() -> None:
        try:
            async with asyncio.timeout(6.0):
                reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
                try:
                    await http(name, reader, writer)
                finally:
                    writer.transport.abort()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # it was shown the door

    async with asyncio.TaskGroup() as group:
        for _ in range(many):
            group.create_task(one())
    call_id, _ = await place.call("faulty", CallPlan(hang_up_after=2.0))
    events = [line.event for line in await place.lines(call_id)]
    assert events.count("call_ended") == 1, name


async def http(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    match name:
        case "garbage":
            writer.write(os.urandom(5_000))
            await reader.read()
        case "huge":
            writer.write(HEAD + b"Content-Length: 50000000\r\n\r\n")
            for _ in range(500):
                writer.write(bytes(100_000))
                await writer.drain()
        case "flood":
            for _ in range(60):
                writer.write(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
            await writer.drain()
            await reader.readexactly(2_000)
        case "close":
            writer.write(HEAD + b"Content-Length: 100\r\n\r\nCall")
            await writer.drain()
        case "disorder":
            writer.write(
                HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nzz\r\n0\r\n"
            )
            writer.write(b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + HEAD * 3)
            await reader.read()
        case _:
            for each in HEAD:
                writer.write(bytes([each]))
                await asyncio.sleep(0.2)


HTTP = ("garbage", "huge", "flood", "close", "disorder", "hang")


async def test_the_http_port(place: Place) -> None:
    await place.beside([lambda name=name: port(place, name) for name in HTTP])
