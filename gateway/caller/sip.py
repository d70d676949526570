"""A caller with a telephone on SIP: our own user agent, and sound that leaves as it was spoken."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gateway.caller.phone import Phone
from gateway.lines.rtp.dtmf import KeyWriter
from gateway.lines.rtp.latch import Latch
from gateway.lines.rtp.media_socket import MediaSockets
from gateway.lines.rtp.offer import Agreement, LocalMedia, Negotiation
from gateway.lines.rtp.packet import Packet, is_rtcp
from gateway.lines.rtp.srtp import SecureStream
from gateway.lines.rtp.stream import Datagram
from gateway.lines.sip.dialogs.core import CallKey, Invited
from gateway.lines.sip.dialogs.placing import Dial
from gateway.lines.sip.dialogs.ua import CallContext
from gateway.lines.sip.dialogs.vocabulary import (
    Established,
    HangUp,
    MediaAgreed,
    Over,
    PressKey,
    Report,
)
from gateway.lines.sip.message.address import parse_uri
from gateway.lines.sip.message.digest import Credentials
from gateway.lines.sip.message.message import Response
from gateway.lines.sip.network import SipNetwork, token
from gateway.lines.sip.settings import SipSettings
from gateway.lines.sip.transactions.routing import transport_of
from media.codec import WireForm, wire_form
from media.frame import FRAME_SECONDS

PORTS = (20_000, 60_000)
"""RTP ports of callers; far from those that the gateway uses by default would be best, and any
free pair will do."""

BYE_SECONDS = 3.0
"""How long the gateway may take to answer BYE."""


@dataclass(frozen=True, slots=True)
class SipCaller:
    """How a call is placed."""

    uri: str
    "whom to call: `sip:user@host:port;transport=tcp`"
    caller: str = "+15550100"
    "reserved for fiction by the North American Numbering Plan"
    codec: str = "pcmu"
    credentials: Credentials | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    "put on the INVITE"
    srtp: bool = False
    authorities: Path | None = None
    "PEM file that the gateway's certificate is checked against"

    def __post_init__(self) -> None:
        if parse_uri(self.uri).scheme not in ("sip", "sips"):
            raise ValueError(f"{self.uri!r} is no SIP URI")

    @property
    def form(self) -> WireForm:
        """What the line carries."""
        return wire_form(self.codec, 8000)

    def new_id(self) -> str:
        """Draw a Call-ID."""
        return token()

    async def call(self, call_id: str, phone: Phone) -> None:
        """Place one call and return when it is over; `phone` is told how it went."""
        transport = transport_of(parse_uri(self.uri)) or "udp"
        settings = SipSettings(
            udp=0,
            tcp=0 if transport == "tcp" else None,
            codecs=(self.codec,),  # type: ignore[arg-type]
            authorities=self.authorities,
            session_expires=0,
            user_agent="Parley caller",
        )
        async with asyncio.TaskGroup() as group:
            end = _Line(self, phone, settings)
            await end.network.open(group)
            try:
                if await end.place(call_id):
                    await phone.over.wait()
                    async with asyncio.timeout(BYE_SECONDS):
                        await end.closed_event.wait()
            except TimeoutError:
                phone.complain("BYE was not answered")
            finally:
                end.close()
                await end.network.close()


class _Line:
    """One call's signalling and sound."""

    def __init__(self, caller: SipCaller, phone: Phone, settings: SipSettings) -> None:
        self.network = SipNetwork(settings, self)
        self.closed_event = asyncio.Event()
        self._caller = caller
        self._phone = phone
        self._loop = asyncio.get_running_loop()
        self._sockets: MediaSockets | None = None
        self._sound: _Sound | None = None
        self._key: CallKey | None = None

    async def place(self, call_id: str) -> bool:
        """Send the INVITE; False when there is nowhere to send it."""
        caller = self._caller
        hops = await self.network.hops(caller.uri)
        if not hops:
            self._phone.end("failure", "the address leads nowhere")
            return False
        hop = hops[0]
        host = self.network.local_host(hop.host)
        self._sockets = MediaSockets.open(host, PORTS)
        local = LocalMedia(
            host, self._sockets.port, (caller.codec,), "required" if caller.srtp else "never"
        )
        ground = CallContext(
            self.network.call_settings,
            self.network.timers,
            token,
            Negotiation(local, secrets.randbits(48), secrets.token_bytes),
            (caller.credentials,) if caller.credentials else (),
        )
        dial = Dial(
            caller.uri,
            f"<sip:{caller.caller}@{host}>",
            self.network.contact(hop, caller.caller),
            (),
            tuple(caller.headers.items()),
        )
        self._key, effects = self.network.core.dial(dial, ground, call_id, self._loop.time())
        self.network.post(lambda now: effects)
        return True

    def close(self) -> None:
        """Give the sockets back."""
        if self._sockets is not None:
            self._sockets.close()

    # --- from the network

    def invited(self, invited: Invited) -> None:
        """Refuse: nobody calls a caller."""
        core = self.network.core
        self.network.post(partial(core.refuse, invited.arrived, 486))

    def reported(self, key: CallKey, report: Report) -> None:
        """Take what the call reports."""
        match report:
            case MediaAgreed(agreement):
                self._agreed(agreement)
            case Established():
                self._phone.begin(self)
            case Over(by=by, code=code, reason=reason, outcome=outcome):
                said = f"{code} {reason}".strip() if code else reason or outcome
                answered = self._phone.schedule.now > 0
                self._phone.end("agent" if by == "remote" and answered else "failure", said)
            case _:
                pass

    def closed(self, key: CallKey) -> None:
        """Take it that BYE was answered."""
        self.closed_event.set()

    def answered(self, label: str, response: Response | None) -> None:
        """Nothing is sent beside the call."""

    def _agreed(self, agreement: Agreement) -> None:
        if self._sockets is None:
            return
        if self._sound is None:
            self._sound = _Sound(agreement, self._sockets, self._phone)
            self._sockets.start(self._sound.receive)
        else:
            self._sound.use(agreement)

    # --- from the phone

    def send(self, payload: bytes, start: int) -> None:
        """Send a frame of the caller's sound."""
        if self._sound is not None:
            self._sound.send(payload, start)

    def press(self, key: str) -> None:
        """Press a key, beside the sound where that was agreed."""
        if self._key is None or self._sound is None:
            return
        if not self._sound.press(key):
            self.network.post(partial(self.network.core.order, self._key, PressKey(key)))

    def passed(self, marks: Sequence[str]) -> None:
        """RTP has no marks."""

    def hang_up(self) -> None:
        """End the call."""
        if self._key is not None:
            self._loop.call_soon(self._hang_up, self._key)

    def _hang_up(self, key: CallKey) -> None:
        self.network.post(partial(self.network.core.order, key, HangUp()))


class _Sound:
    """RTP whose numbers follow the caller's own clock, so that a frame that is lost is missed."""

    def __init__(self, agreement: Agreement, sockets: MediaSockets, phone: Phone) -> None:
        self._agreement = agreement
        self._sockets = sockets
        self._phone = phone
        self._secure = SecureStream()
        self._secure.use(agreement.send_key, agreement.receive_key)
        self._latch = Latch(agreement.remote, agreement.remote[0])
        self._ssrc = secrets.randbits(32)
        self._sequence = secrets.randbits(15)
        self._origin = secrets.randbits(32)
        self._frame = round(agreement.codec.clock * FRAME_SECONDS)
        self._keys = KeyWriter(agreement.keys_clock, 0.12, 0.08)
        self._first = True

    def use(self, agreement: Agreement) -> None:
        """Go on under a new agreement."""
        self._agreement = agreement
        self._secure.use(agreement.send_key, agreement.receive_key)
        self._latch.expect(agreement.remote, asyncio.get_running_loop().time())

    def receive(self, data: bytes, source: tuple[str, int]) -> None:
        """Take a packet of the agent's."""
        if is_rtcp(data):
            return
        plain = self._secure.unprotect(data)
        if plain is None:
            self._phone.complain("SRTP: a packet that is not encrypted as agreed")
            return
        try:
            packet = Packet.parse(plain)
        except ValueError as error:
            self._phone.complain(f"RTP: {error}")
            return
        now = asyncio.get_running_loop().time()
        if self._phone.schedule.now <= 0 or not self._latch.admits(
            source, packet.ssrc, packet.sequence, now
        ):
            return
        if packet.type == self._agreement.send_type:
            self._phone.hear(packet.payload)

    def send(self, payload: bytes, start: int) -> None:
        """Send a frame, and the key that is being pressed."""
        timestamp = (self._origin + start) & 0xFFFFFFFF
        event = self._keys.tick(timestamp) if self._agreement.keys_send is not None else None
        if event is not None and self._agreement.keys_send is not None:
            self._emit(
                Packet(
                    self._agreement.keys_send,
                    self._number(start),
                    event.timestamp,
                    self._ssrc,
                    event.payload,
                    event.marker,
                )
            )
            self._sequence += 1
        packet = Packet(
            self._agreement.send_type,
            self._number(start),
            timestamp,
            self._ssrc,
            payload,
            self._first,
        )
        self._first = False
        self._emit(packet)

    def press(self, key: str) -> bool:
        """Press a key; False when the agreement has none."""
        if self._agreement.keys_send is None:
            return False
        self._keys.press(key)
        return True

    def _number(self, start: int) -> int:
        """Return the sequence number of a place: it goes on where frames were lost."""
        return (self._sequence + start // self._frame) & 0xFFFF

    def _emit(self, packet: Packet) -> None:
        data = packet.encode()
        if self._secure.active:
            data = self._secure.protect(data)
        self._sockets.send(Datagram(data, self._latch.target))
