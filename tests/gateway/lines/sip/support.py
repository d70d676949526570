"""What the tests of the SIP machines share: identifiers that count, and a core that answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from gateway.lines.rtp.offer import LocalMedia, Negotiation
from gateway.lines.sip.dialogs.core import Core, CoreEffect, Invited
from gateway.lines.sip.dialogs.ua import CallContext
from gateway.lines.sip.dialogs.vocabulary import CallSettings
from gateway.lines.sip.message.message import Malformed, Request, Response, parse
from gateway.lines.sip.transactions.hop import Hop, Timers
from gateway.lines.sip.transactions.layer import Emit, Layer
from gateway.lines.sip.transactions.routing import direct_hops

FAR = Hop("udp", "192.0.2.9", 5060)
SDP = (
    b"v=0\r\no=- 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\n"
    b"m=audio 4000 RTP/AVP 0 8 101\r\na=rtpmap:101 telephone-event/8000\r\n"
)


def counting() -> Callable[[], str]:
    """Make identifiers that are the same in every run."""
    numbers = count(1)
    return lambda: f"{next(numbers):020x}"


def negotiation(**media: object) -> Negotiation:
    """Make our side of a negotiation."""
    local = LocalMedia("192.0.2.1", 6000, **media)  # type: ignore[arg-type]
    return Negotiation(local, 1, lambda size: bytes(size))


def ground(settings: CallSettings | None = None, timers: Timers | None = None) -> CallContext:
    """Make what a call stands on."""
    return CallContext(settings or CallSettings(), timers or Timers(), counting(), negotiation())


def core(settings: CallSettings | None = None) -> Core:
    """Make a core on its own."""
    ids = counting()
    layer = Layer(Timers(), ids, lambda hop: "192.0.2.1:5060")
    return Core(settings or CallSettings(), layer, ids, direct_hops)


def take(it: Core, data: bytes, hop: Hop = FAR, now: float = 0.0) -> list[CoreEffect]:
    """Return a core what came off the wire, as the network does."""
    try:
        return it.receive(parse(data, stream=hop.reliable), hop, now)
    except Malformed as error:
        return it.malformed(error, hop)


def answers(effects: list[CoreEffect]) -> list[int | str]:
    """Return the status codes and methods sent, and `invited`."""
    found: list[int | str] = []
    for effect in effects:
        match effect:
            case Emit(Response() as response):
                found.append(response.code)
            case Emit(Request() as request):
                found.append(request.method)
            case Invited():
                found.append("invited")
            case _:
                pass
    return found


def request(
    method: str = "INVITE",
    *more: str,
    uri: str = "sip:bot@192.0.2.1",
    branch: str = "z9hG4bKone",
    sequence: int = 1,
    to_tag: str = "",
    from_tag: str = "far",
    body: bytes = b"",
) -> bytes:
    """Write a request of the far side; `more` are header lines."""
    to = f"<sip:bot@192.0.2.1>{';tag=' + to_tag if to_tag else ''}"
    lines = [
        f"{method} {uri} SIP/2.0",
        f"Via: SIP/2.0/UDP 192.0.2.9:5060;branch={branch}",
        f"From: <sip:far@192.0.2.9>;tag={from_tag}",
        f"To: {to}",
        "Call-ID: call@192.0.2.9",
        f"CSeq: {sequence} {method}",
        "Contact: <sip:far@192.0.2.9:5060>",
        "Max-Forwards: 70",
        *more,
    ]
    if body:
        lines.append("Content-Type: application/sdp")
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
