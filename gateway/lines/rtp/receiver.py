"""The caller's half of one stream: which source is heard, in which codec, and all that was lost."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from gateway.lines.rtp.codecs import Codec
from gateway.lines.rtp.coder import Coder
from gateway.lines.rtp.packet import Packet
from media.arrivals import Counts
from media.frame import AudioFrame
from media.reception import Reception


class Receiver:
    """Makes one unbroken stream of frames, whoever sends it: sources and codecs may change."""

    def __init__(
        self, rate: int, clock: int, coders: Callable[[Codec], Coder], position: int = 0
    ) -> None:
        """`rate` is that of the frames, `clock` that of RTP until somebody sends, `position` where
        in the caller's sound the first frame lies."""
        self.rate = rate
        self.clock = clock
        self.ssrc: int | None = None
        self._coders = coders
        self._codec: Codec | None = None
        self._coder: Coder | None = None
        self._reception: Reception | None = None
        self._position = position
        self._past = (0, 0, 0)
        "packets received, expected and late, of sources that are over"
        self._concealed = 0
        self._stretched = 0.0

    @property
    def position(self) -> int:
        """Where the next frame lies."""
        return self._position

    @property
    def counts(self) -> Counts | None:
        """Counts of the present source; None before the first packet."""
        return self._reception.buffer.counts if self._reception else None

    @property
    def stretched(self) -> float:
        """Return how many packets of sound were made up where none was missing."""
        present = self.counts
        return self._stretched + (present.stretched if present else 0.0)

    def totals(self) -> tuple[int, int, int]:
        """Return packets received, expected and late over all sources."""
        present, past = self.counts, self._past
        if present is None:
            return past
        return (
            past[0] + present.received,
            past[1] + present.expected,
            past[2] + present.late,
        )

    @property
    def concealed(self) -> float:
        """Return how much sound was made up, in seconds."""
        present = self._reception.concealer.concealed if self._reception else 0
        return (self._concealed + present) / self.rate

    @property
    def target(self) -> float:
        """Return the depth the jitter buffer aims at, in seconds."""
        return self._reception.buffer.target if self._reception else 0.0

    def depth(self, now: float) -> float:
        """Return the delay that the jitter buffer adds now, in seconds."""
        return self._reception.buffer.depth(now) if self._reception else 0.0

    def push(self, packet: Packet, codec: Codec, now: float) -> None:
        """Take a packet of sound."""
        if codec != self._codec or packet.ssrc != self.ssrc:
            self._follow(packet.ssrc, codec)
        assert self._coder is not None
        assert self._reception is not None
        units = self._coder.units(packet.payload)
        if units > 0:
            self._reception.push(packet.sequence, packet.timestamp, packet.payload, now, units)

    def push_noise(self, packet: Packet, now: float) -> None:
        """Take comfort noise (RFC 3389): it is heard where nothing else is."""
        if self._reception is not None and packet.ssrc == self.ssrc:
            self._reception.push_noise(packet.sequence, packet.timestamp, packet.payload, now)

    def push_other(self, packet: Packet, now: float) -> None:
        """Take a packet that is no sound: a key."""
        if self._reception is not None and packet.ssrc == self.ssrc:
            self._reception.push_other(packet.sequence, packet.timestamp, now)

    def _follow(self, ssrc: int, codec: Codec) -> None:
        """Begin anew with another source (RFC 3550, section 8.2) or codec."""
        if self._reception is not None:
            if ssrc != self.ssrc:
                self._past = self.totals()
            self._concealed += self._reception.concealer.concealed
            self._stretched += self._reception.buffer.counts.stretched
        self.ssrc, self._codec, self.clock = ssrc, codec, codec.clock
        self._coder = coder = self._coders(codec)
        self._reception = Reception(
            self.rate,
            coder.decode,
            clock=codec.clock,
            codec=codec.name if codec.name in ("pcmu", "pcma") and self.rate == codec.rate else "",
            mend=coder.mend,
        )

    def pull(self, now: float) -> AudioFrame | None:
        """Return the next 20 ms; None before there was anything at all."""
        if self._reception is None:
            return None
        frame = self._reception.pull(now)
        if frame.start != self._position:
            frame = replace(frame, start=self._position)
        self._position = frame.end
        return frame
