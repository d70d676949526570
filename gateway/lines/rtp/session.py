"""Both directions of one call's sound as packets (an RTP session: RFC 3550, section 3).

Nothing here opens, waits, encrypts or knows an address: each line puts those around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gateway.lines.rtp.codecs import Codec
from gateway.lines.rtp.coder import OPUS_BITS, coder_for
from gateway.lines.rtp.dtmf import KeyReader, KeyWriter
from gateway.lines.rtp.packet import Packet, Sender
from gateway.lines.rtp.receiver import Receiver
from gateway.lines.rtp.reports import Quality, Reports
from gateway.lines.rtp.sounder import Sending, Sounder
from media.codec import WireForm
from media.frame import AudioFrame

LOSS_SECONDS = 5.0
"""How often the encoder is told of the loss at the far side: as often as that side reports."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where a stream's counters begin; drawn by whoever may draw (RFC 3550, section 5.1)."""

    ssrc: int
    sequence: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What a session is made with, beside what was agreed."""

    cname: str
    "our name in reports, the same through the call (RFC 3550, section 6.5.1)"
    wall: float
    "wall clock minus the loop's, in seconds"
    bitrate: int = OPUS_BITS
    "bits per second of our sound in Opus"
    key_seconds: float = 0.12
    key_gap: float = 0.08


class RtpSession:
    """Makes our packets and reads theirs; the call's rate stays, whatever codecs come and go."""

    def __init__(
        self,
        sending: Sending,
        form: WireForm,
        numbers: Numbers,
        settings: SessionSettings,
        draw: Callable[[int], int],
        position: int = 0,
    ) -> None:
        """`form` is how playout holds the sound, `draw(n)` gives random numbers in [0, n), and
        `position` is where in the caller's sound the first frame lies."""
        coders = partial(coder_for, rate=form.rate, bitrate=settings.bitrate)
        clock = sending.codec.clock
        sender = Sender(numbers.ssrc, numbers.sequence, numbers.timestamp)
        keys = KeyWriter(clock, settings.key_seconds, settings.key_gap)
        self.receiver = Receiver(form.rate, clock, coders, position)
        self.sounder = Sounder(sending, form, coders, sender, keys)
        self._reports = Reports(sender, self.receiver, settings.cname, settings.wall, draw)
        self._keys_in = KeyReader()
        self._told_loss = 0.0

    # --- in

    def take_sound(self, packet: Packet, codec: Codec, now: float) -> None:
        """Take a packet of the caller's sound."""
        self.receiver.push(packet, codec, now)

    def take_key(self, packet: Packet, now: float) -> str | None:
        """Take a packet of a pressed key; give the key when it is news."""
        self.receiver.push_other(packet, now)
        return self._keys_in.read(packet.timestamp, packet.payload)

    def pass_over(self, packet: Packet, now: float) -> None:
        """Count a packet of a kind that was not agreed on."""
        self.receiver.push_other(packet, now)

    def take_noise(self, packet: Packet, now: float) -> None:
        """Take a packet of comfort noise."""
        self.receiver.push_noise(packet, now)

    def take_report(self, data: bytes, now: float) -> bool:
        """Take a compound packet of RTCP; False when it is none."""
        return self._reports.receive(data, now)

    def hear(self, now: float) -> AudioFrame | None:
        """Return the caller's next 20 ms; None before there was anything at all."""
        return self.receiver.pull(now)

    # --- out

    def tick(self, now: float, payloads: Sequence[bytes], more: bool) -> list[bytes]:
        """Return the packets of these 20 ms; `more` says that sound waits for its moment."""
        return self.sounder.tick(now, payloads, more)

    def report(self, now: float) -> list[bytes]:
        """Return a report when it is time for one."""
        if now - self._told_loss > LOSS_SECONDS:
            self._told_loss = now
            self.sounder.expect_loss(self._reports.far_loss)
        return self._reports.due(now)

    def goodbye(self, now: float) -> bytes:
        """Return the last report (RFC 3550, section 6.6)."""
        return self._reports.build(now, goodbye=True)

    # --- figures

    @property
    def round_trip(self) -> float | None:
        """Seconds, as RTCP measured it."""
        return self._reports.round_trip

    def quality(self, now: float) -> Quality:
        """Sum up how the sound came and went."""
        return self._reports.quality(now)
