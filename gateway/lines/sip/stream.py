"""One call's RTP stream in both directions: packets to sound and back, without a socket or clock.

Receiving: latch, decryption, order, keys, noise; sending: one continuous stream on one clock,
silence included, so that no far end and no NAT takes the call for dead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.lines.sip.coder import Coder, coder_for, playout_form
from gateway.lines.sip.keys_rtp import KeyReader, KeyWriter
from gateway.lines.sip.latch import Address, Latch
from gateway.lines.sip.offer import Agreement
from gateway.lines.sip.receiver import Receiver
from gateway.lines.sip.reports import Reports
from gateway.lines.sip.rtp import Packet, Sender, is_rtcp
from gateway.lines.sip.srtp import SecureStream
from media.frame import FRAME_SECONDS, AudioFrame

MAX_BEHIND = 10
"""Frames of silence that are made up for after a stall; beyond, the stream's clock jumps."""


@dataclass(frozen=True, slots=True)
class Datagram:
    """What is to be sent."""

    data: bytes
    address: Address
    rtcp: bool = False
    "through the second port, when RTCP has one"


class RtpStream:
    """The media of one call."""

    def __init__(
        self,
        agreement: Agreement,
        signalling: str,
        draw: Callable[[int], int],
        wall: float,
        cname: str,
        *,
        key_seconds: float = 0.12,
        key_gap: float = 0.08,
        target: float = 0.04,
    ) -> None:
        """Begin; `wall` is the wall clock minus the loop's, `draw` gives random numbers."""
        codec = agreement.codec
        self.agreement = agreement
        self.form = playout_form(codec)
        "how playout holds the sound; stays through the call"
        self.latch = Latch(agreement.remote, signalling)
        self.secure = SecureStream()
        self.secure.use(agreement.send_key, agreement.receive_key)
        self._coder: Coder = coder_for(codec)
        self._sender = Sender(draw(1 << 32), draw(1 << 15), draw(1 << 32))
        self._receiver = Receiver(codec.rate, codec.clock, target)
        self.reports = Reports(self._sender, self._receiver, cname, wall, draw)
        self._keys_in = KeyReader()
        self._keys_out = KeyWriter(codec.clock, key_seconds, key_gap)
        self._rtcp = agreement.remote_rtcp
        self._silence = self._coder.encode(bytes(codec.rate // 25))
        self._units = codec.clock // 50
        self._buffer = b""
        self._start: float | None = None
        self._sent = 0
        "frames"
        self.last_heard: float | None = None

    def use(self, agreement: Agreement) -> None:
        """Go on under a new agreement."""
        if agreement.codec != self.agreement.codec:
            self._coder = coder_for(agreement.codec)
            self._silence = self._coder.encode(bytes(agreement.codec.rate // 25))
            self._buffer = b""
        self.latch.expect(agreement.remote)
        self.secure.use(agreement.send_key, agreement.receive_key)
        self._rtcp = agreement.remote_rtcp
        self.agreement = agreement

    @property
    def sends(self) -> bool:
        """Whether the far side wants sound."""
        return self.agreement.direction in ("sendrecv", "sendonly")

    @property
    def hears(self) -> bool:
        """Whether the far side's sound is the caller's; on hold it is music for nobody."""
        return self.agreement.direction == "sendrecv"

    # --- in

    def receive(self, data: bytes, source: Address, now: float) -> str | None:
        """Take a datagram; give a key when one was pressed."""
        if is_rtcp(data):
            plain = self.secure.unprotect(data, rtcp=True)
            if plain is not None and (self.secure.active or source[0] == self.latch.target[0]):
                self._heard_rtcp(plain, source, now)
            return None
        plain = self.secure.unprotect(data)
        if plain is None:
            return None
        try:
            packet = Packet.parse(plain)
        except ValueError:
            return None
        if not self._expected(packet.type) or not self.latch.admits(
            source, packet.ssrc, packet.sequence, now, proven=self.secure.active
        ):
            return None
        self.last_heard = now
        return self._take(packet, now)

    def _expected(self, kind: int) -> bool:
        agreement = self.agreement
        return (
            kind in agreement.receive_types
            or kind in agreement.keys_receive
            or kind in agreement.noise_types
        )

    def _take(self, packet: Packet, now: float) -> str | None:
        agreement = self.agreement
        if packet.type in agreement.keys_receive:
            self._receiver.skip(packet, now)
            return self._keys_in.read(packet.timestamp, packet.payload)
        if packet.type in agreement.noise_types:
            # RFC 3389: a level and a spectrum, no sound; the clock feeds the silence.
            self._receiver.skip(packet, now)
            return None
        self._receiver.push(packet, agreement.receive_types[packet.type], now)
        return None

    def _heard_rtcp(self, data: bytes, source: Address, now: float) -> None:
        if self.reports.receive(data, now):
            self.last_heard = now
            if not self.agreement.rtcp_mux and self.latch.locked:
                self._rtcp = source

    def hear(self, now: float) -> AudioFrame | None:
        """Give the next 20 ms of the caller; None before the first packet."""
        frame = self._receiver.pull(now)
        if frame is None or self.hears:
            return frame
        return AudioFrame(bytes(len(frame.pcm)), frame.rate, frame.start)

    # --- out

    def press(self, keys: str) -> bool:
        """Press keys; False when the far side takes none beside its sound."""
        if self.agreement.keys_send is None:
            return False
        self._keys_out.press(keys)
        return True

    def tick(self, now: float, payloads: Sequence[bytes], more: bool) -> list[Datagram]:
        """Send what playout gave for these 20 ms, and silence where it gave nothing.

        `more` says that sound waits and only its moment has not come.
        """
        out = self.reports.due(now, self._datagram_rtcp)
        if not self.sends:
            self._start = None
            return out
        if self._start is None:
            self._start, self._sent = now, 0
            self._sender.mark()
        due = round((now - self._start) / FRAME_SECONDS) + 1
        if due - self._sent > MAX_BEHIND:
            self._jump(due - self._sent - 1)
        out += self._events()
        for payload in payloads:
            out += self._sound(self._recode(payload))
        slack = 1 if more else 0
        while self._sent + slack < due:
            out += self._sound(self._silence)
        return out

    def _jump(self, frames: int) -> None:
        self._sender.skip(frames * self._units)
        self._sender.mark()
        self._sent += frames
        self._buffer = b""

    def _recode(self, payload: bytes) -> bytes:
        """Turn playout's form into the codec's, where they differ."""
        if self.form.name == self.agreement.codec.name:
            return payload
        return self._coder.encode(self.form.decode(payload))

    def _sound(self, payload: bytes) -> list[Datagram]:
        """Packetise 20 ms as the far side wants it."""
        self._sent += 1
        agreement = self.agreement
        size = self._coder.frame_bytes * agreement.ptime_ms // 20
        if not size or (size == len(payload) and not self._buffer):
            return [self._datagram(self._sender.sound(agreement.send_type, payload, self._units))]
        self._buffer += payload
        out: list[Datagram] = []
        units = self._units * agreement.ptime_ms // 20
        while len(self._buffer) >= size:
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            packet = self._sender.sound(agreement.send_type, piece, units)
            out.append(self._datagram(packet))
        return out

    def _events(self) -> list[Datagram]:
        """Send the key that is pressed, beside the sound."""
        kind = self.agreement.keys_send
        if kind is None or not self._keys_out.busy:
            return []
        event = self._keys_out.tick(self._sender.timestamp)
        if event is None:
            return []
        packet = self._sender.event(kind, event.payload, event.timestamp, event.marker)
        return [self._datagram(packet)]

    def _datagram(self, packet: bytes) -> Datagram:
        data = self.secure.protect(packet) if self.secure.active else packet
        return Datagram(data, self.latch.target)

    def _datagram_rtcp(self, packet: bytes) -> Datagram:
        mux = self.agreement.rtcp_mux
        address = self.latch.target if mux else self._rtcp
        return Datagram(self.secure.protect(packet, rtcp=True), address, not mux)

    def goodbye(self, now: float) -> list[Datagram]:
        """Say that the stream ends (RFC 3550, section 6.6)."""
        return [self._datagram_rtcp(self.reports.build(now, goodbye=True))]
