"""One call's RTP stream in both directions: packets to sound and back, without a socket or clock.

Receiving: latch, decryption, order, keys, noise; sending: one continuous stream on one clock,
silence included, so that no far end and no NAT takes the call for dead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.lines.rtp.codecs import CODECS
from gateway.lines.rtp.coder import playout_form
from gateway.lines.rtp.destination import is_nowhere
from gateway.lines.rtp.latch import Address, Latch
from gateway.lines.rtp.offer import Agreement
from gateway.lines.rtp.packet import Packet, is_rtcp
from gateway.lines.rtp.session import Numbers, RtpSession, SessionSettings
from gateway.lines.rtp.sounder import Sending
from gateway.lines.rtp.srtp import SecureStream
from media.codec import WireForm
from media.frame import AudioFrame


@dataclass(frozen=True, slots=True)
class Datagram:
    """What is to be sent."""

    data: bytes
    address: Address
    rtcp: bool = False
    "through the second port, when RTCP has one"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """What a stream is made with, beside its agreement."""

    signalling: str
    "host that the signalling comes from"
    session: SessionSettings


class RtpStream:
    """The media of one call."""

    def __init__(
        self,
        agreement: Agreement,
        settings: StreamSettings,
        draw: Callable[[int], int],
        *,
        form: WireForm | None = None,
        position: int = 0,
    ) -> None:
        """Begin; `draw(n)` gives random numbers in [0, n).

        `form` and `position` are of a stream that this one takes the place of.
        """
        self.agreement = agreement
        self.form = form or playout_form(agreement.codec)
        "how playout holds the sound; stays through the call"
        self.latch = Latch(agreement.remote, settings.signalling)
        self.secure = SecureStream()
        self.secure.use(agreement.send_key, agreement.receive_key)
        numbers = Numbers(draw(1 << 32), draw(1 << 15), draw(1 << 32))
        self.session = RtpSession(
            _sending(agreement), self.form, numbers, settings.session, draw, position
        )
        self._rtcp = agreement.remote_rtcp
        self._former_rtcp: Address | None = None
        self.last_heard: float | None = None

    def use(self, agreement: Agreement, now: float) -> None:
        """Go on under a new agreement."""
        self.session.sounder.use(_sending(agreement))
        self.latch.expect(agreement.remote, now)
        self.secure.use(agreement.send_key, agreement.receive_key)
        if agreement.remote_rtcp != self.agreement.remote_rtcp:
            # Reports of the old stream that are on their way do not turn ours back.
            self._former_rtcp, self._rtcp = self._rtcp, agreement.remote_rtcp
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
                self._heard_report(plain, source, now)
            return None
        plain = self.secure.unprotect(data)
        if plain is None:
            return None
        try:
            packet = Packet.parse(plain)
        except ValueError:
            return None
        if not self._expected(packet.type):
            if source == self.latch.target:
                # It says nothing here, and is no loss: a key or a codec that nobody agreed on.
                self.session.pass_over(packet, now)
            return None
        if not self.latch.admits(
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
            return self.session.take_key(packet, now)
        if packet.type in agreement.noise_types:
            self.session.take_noise(packet, now)
            return None
        codec = CODECS[agreement.receive_types[packet.type]]
        self.session.take_sound(packet, codec, now)
        return None

    def _heard_report(self, data: bytes, source: Address, now: float) -> None:
        if self.session.take_report(data, now):
            self.last_heard = now
            moved = source != self._former_rtcp or source == self.agreement.remote_rtcp
            if not self.agreement.rtcp_mux and self.latch.locked and moved:
                self._rtcp = source

    def hear(self, now: float) -> AudioFrame | None:
        """Return the next 20 ms of the caller; None before the first packet."""
        frame = self.session.hear(now)
        if frame is None or self.hears:
            return frame
        return AudioFrame(bytes(len(frame.pcm)), frame.rate, frame.start)

    # --- out

    def press(self, keys: str) -> bool:
        """Press keys; False when the far side takes none beside its sound."""
        return self.session.sounder.press(keys)

    def tick(self, now: float, payloads: Sequence[bytes], more: bool) -> list[Datagram]:
        """Send what playout gave for these 20 ms, and silence where it gave nothing.

        `more` says that sound waits and only its moment has not come.
        """
        out = _to_somebody([self._report(packet) for packet in self.session.report(now)])
        if not self.sends:
            self.session.sounder.pause()
            return out
        target, secure = self.latch.target, self.secure
        for packet in self.session.tick(now, payloads, more):
            out.append(Datagram(secure.protect(packet) if secure.active else packet, target))
        return out

    def _report(self, packet: bytes) -> Datagram:
        mux = self.agreement.rtcp_mux
        address = self.latch.target if mux else self._rtcp
        return Datagram(self.secure.protect(packet, rtcp=True), address, not mux)

    def goodbye(self, now: float) -> list[Datagram]:
        """Say that the stream ends (RFC 3550, section 6.6)."""
        return _to_somebody([self._report(self.session.goodbye(now))])


def _sending(agreement: Agreement) -> Sending:
    return Sending(
        agreement.codec,
        agreement.send_type,
        agreement.keys_send,
        agreement.ptime_ms,
        agreement.keys_clock,
    )


def _to_somebody(datagrams: list[Datagram]) -> list[Datagram]:
    """Leave out what has nowhere to go: the far side has us on hold by address 0.0.0.0."""
    return [one for one in datagrams if not is_nowhere(one.address[0])]
