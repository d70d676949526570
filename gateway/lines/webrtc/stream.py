"""Both directions of one call's sound as RTP: one packet every 20 ms out, an unbroken stream in.

Nothing here opens, waits or encrypts; packets go in and come out as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.lines.rtp.keys import KeyReader
from gateway.lines.rtp.packet import Packet, Sender
from gateway.lines.rtp.reports import Quality, Reports
from gateway.lines.webrtc.offer import Agreed
from gateway.lines.webrtc.rendered import Rendered, Timeline
from media import opus
from media.arrivals import Counts
from media.codec import WireForm, wire_form
from media.frame import FRAME_SECONDS, AudioFrame
from media.playout import Chunk
from media.reception import Reception

MAX_BEHIND = 10
"""Frames of silence that are made up for after a stall; beyond, the stream's clock jumps."""

SILENT_AFTER = 10
"""Silent frames after which an encoder has settled, and gives the same packet for more silence."""

LOSS_SECONDS = 5.0
"""How often the encoder is told of the loss at the far side: as often as that side reports."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where a stream's counters begin; drawn by whoever may draw (RFC 3550, section 5.1)."""

    ssrc: int
    sequence: int
    timestamp: int


class Coder(Protocol):
    """Sound to payloads and back."""

    def encode(self, pcm: bytes) -> bytes:
        """Write 20 ms in the playout's form."""

    def decode(self, payload: bytes) -> bytes:
        """Read a payload to 16-bit samples; raises ValueError."""

    def units(self, payload: bytes) -> int:
        """Say how long a payload lasts, in units of the RTP clock."""

    def expect_loss(self, share: float) -> None:
        """Take how much the far side loses."""


class _OpusCoder:
    """Opus at the call's rate."""

    def __init__(self, rate: int, bitrate: int) -> None:
        self.decoder = opus.OpusDecoder(rate)
        self._encoder = opus.OpusEncoder(rate, bitrate=bitrate)
        self.encode = self._encoder.encode
        self.decode = self.decoder.decode
        self.units = opus.units

    def expect_loss(self, share: float) -> None:
        """Send more copies where more is lost; a tenth always, since loss comes unannounced."""
        self._encoder.expect_loss(max(0.1, share))


class _CompandedCoder:
    """G.711: playout holds the wire form already."""

    def __init__(self, form: WireForm) -> None:
        self.decode = form.decode

    def encode(self, payload: bytes) -> bytes:
        """Pass it on."""
        return payload

    def units(self, payload: bytes) -> int:
        """One unit a byte."""
        return len(payload)

    def expect_loss(self, share: float) -> None:
        """There is nothing to be done."""


class Receiver:
    """The visitor's half: what was received, lost and made up."""

    def __init__(self, reception: Callable[[], Reception], clock: int) -> None:
        self.clock = clock
        self.ssrc: int | None = None
        self._make = reception
        self._reception: Reception | None = None
        self._position = 0
        self._past = (0, 0, 0)
        self._concealed = 0.0

    @property
    def counts(self) -> Counts | None:
        """Counts of the present source."""
        return self._reception.buffer.counts if self._reception else None

    @property
    def concealed(self) -> float:
        """Seconds of sound made up."""
        return self._concealed + self._own_concealed()

    @property
    def target(self) -> float:
        """Seconds of depth that the jitter buffer aims at."""
        return self._reception.buffer.target if self._reception else 0.0

    def depth(self, now: float) -> float:
        """Give the delay that the jitter buffer adds now, in seconds."""
        return self._reception.buffer.depth(now) if self._reception else 0.0

    def totals(self) -> tuple[int, int, int]:
        """Packets received, expected and late over all sources."""
        present = self.counts
        own = (present.received, present.expected, present.late) if present else (0, 0, 0)
        received, expected, late = (a + b for a, b in zip(self._past, own, strict=True))
        return received, expected, late

    def push(self, packet: Packet, now: float, units: int) -> None:
        """Take a packet; one without sound (`units` 0) only keeps the count."""
        if packet.ssrc != self.ssrc or self._reception is None:
            if not units:
                return
            self._past, self._concealed = self.totals(), self.concealed
            self.ssrc, self._reception = packet.ssrc, self._make()
        self._reception.push(packet.sequence, packet.timestamp, packet.payload, now, units)

    def pull(self, now: float) -> AudioFrame | None:
        """Give the next 20 ms; None before there was anything at all."""
        if self._reception is None:
            return None
        frame = self._reception.pull(now)
        placed = AudioFrame(frame.pcm, frame.rate, self._position, frame.payload, frame.codec)
        self._position = placed.end
        return placed

    def _own_concealed(self) -> float:
        if self._reception is None:
            return 0.0
        return self._reception.concealer.concealed / self._reception.rate


class Outgoing:
    """Our half: what leaves when, and which sample was where."""

    def __init__(self, agreed: Agreed, form: WireForm, coder: Coder, numbers: Numbers) -> None:
        clock = agreed.codec.clock
        self.sender = Sender(numbers.ssrc, numbers.sequence, numbers.timestamp)
        self.timeline = Timeline(clock, form.rate, self.sender.timestamp)
        self._type = agreed.payload_type
        self._coder = coder
        self._units = clock // 50
        self._silence = form.silence(round(form.rate * FRAME_SECONDS))
        self._settled = b""
        "the packet of silence, once the encoder gives no other"
        self._silent = 0
        self._start: float | None = None
        self._sent = 0

    def tick(self, now: float, chunks: Sequence[Chunk], waiting: bool) -> list[bytes]:
        """Give the packets of these 20 ms; `waiting` says that sound waits for its moment."""
        if self._start is None:
            self._start = now
        due = round((now - self._start) / FRAME_SECONDS) + 1
        if due - self._sent > MAX_BEHIND:
            self._jump(due - self._sent - 1)
        packets = [self._sound(chunk, now) for chunk in chunks]
        slack = 1 if waiting else 0
        while self._sent + slack < due:
            packets.append(self._sound(None, now))
        return packets

    def _sound(self, chunk: Chunk | None, now: float) -> bytes:
        self._sent += 1
        self.timeline.sent(chunk, now)
        if chunk is not None:
            self._silent = 0
            payload = self._coder.encode(chunk.payload)
        elif self._silent < SILENT_AFTER:
            self._silent += 1
            payload = self._settled = self._coder.encode(self._silence)
        else:
            payload = self._settled
        return self.sender.sound(self._type, payload, self._units)

    def _jump(self, frames: int) -> None:
        self.sender.skip(frames * self._units)
        self.timeline.skip(frames * self._units)
        self.sender.mark()
        self._sent += frames


class RtpStream:
    """Makes our packets and reads theirs."""

    def __init__(
        self,
        agreed: Agreed,
        rate: int,
        bitrate: int,
        numbers: Numbers,
        cname: str,
        wall: float,
        draw: Callable[[int], int],
    ) -> None:
        """`rate` is that of a call with Opus; `wall` is the time of day at loop time 0."""
        codec = agreed.codec
        self._agreed = agreed
        self._coder: Coder
        if codec.name == "opus":
            self.form = wire_form("l16", rate)
            coder = _OpusCoder(rate, bitrate)
            self._coder, mend, passed = coder, coder.decoder.mend, ""
        else:
            self.form = wire_form(codec.name, codec.rate)
            self._coder, mend, passed = _CompandedCoder(self.form), None, codec.name
        decode, clock = self._coder.decode, codec.clock
        self.receiver = Receiver(
            lambda: Reception(self.form.rate, decode, clock=clock, codec=passed, mend=mend), clock
        )
        self._outgoing = Outgoing(agreed, self.form, self._coder, numbers)
        self._reports = Reports(self._outgoing.sender, self.receiver, cname, wall, draw)
        self._keys = KeyReader()
        self._told_loss = 0.0

    # --- out -----------------------------------------------------------------------------------

    def tick(self, now: float, chunks: Sequence[Chunk], waiting: bool) -> list[bytes]:
        """Give the packets of these 20 ms; `waiting` says that sound waits for its moment."""
        return self._outgoing.tick(now, chunks, waiting)

    def report(self, now: float, *, goodbye: bool = False) -> list[bytes]:
        """Give a report when it is time for one, or the last one."""
        if goodbye:
            return [self._reports.build(now, goodbye=True)]
        if now - self._told_loss > LOSS_SECONDS:
            self._told_loss = now
            self._coder.expect_loss(self.quality(now).far_loss)
        return self._reports.due(now, bytes)

    # --- in ------------------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> str | None:
        """Take a packet; give the key where one was pressed."""
        try:
            packet = Packet.parse(data)
        except ValueError:
            return None
        if packet.type == self._agreed.payload_type:
            units = self._coder.units(packet.payload)
            if units > 0:
                self.receiver.push(packet, now, units)
        elif packet.type == self._agreed.keys_type:
            self.receiver.push(packet, now, 0)
            return self._keys.read(packet.timestamp, packet.payload)
        return None

    def receive_report(self, data: bytes, now: float) -> None:
        """Take a compound packet of RTCP."""
        self._reports.receive(data, now)

    def hear(self, now: float) -> AudioFrame | None:
        """Give the visitor's next 20 ms; None before there was anything at all."""
        return self.receiver.pull(now)

    # --- figures ---------------------------------------------------------------------------------

    @property
    def ssrc(self) -> int:
        """Of our sound."""
        return self._outgoing.sender.ssrc

    @property
    def round_trip(self) -> float | None:
        """Seconds, as RTCP measured it."""
        return self._reports.round_trip

    def rendered(self, timestamp: int, when: float) -> Rendered | None:
        """Say what was heard at `when`, by the RTP time that was being played."""
        return self._outgoing.timeline.at(timestamp, when)

    def forget(self) -> None:
        """Take that what has left lately reached nobody."""
        self._outgoing.timeline.forget()

    def quality(self, now: float) -> Quality:
        """Sum up how the sound came and went."""
        return self._reports.quality(now)
