"""How packets become the caller's continuous sound: order, decoding, concealment, catching up."""

from __future__ import annotations

from gateway.lines.sip.codecs import CODECS
from gateway.lines.sip.coder import Coder, coder_for
from gateway.lines.sip.rtp import Packet
from media.arrivals import Counts
from media.conceal import SHORTEST_CUT, Concealer, shorten
from media.frame import AudioFrame
from media.jitter import JitterBuffer, Lost, Nothing
from media.jitter import Packet as Waiting


class Receiver:
    """The caller's half of one stream."""

    def __init__(self, rate: int, clock: int, target: float) -> None:
        self.ssrc: int | None = None
        self._rate = rate
        self.clock = clock
        self._shortest = target / 2
        self._buffer = self._new_buffer()
        self._coders: dict[str, Coder] = {}
        self._codecs: dict[int, str] = {}
        "codec of what waits, by sequence number"
        self._pcm = b""
        self._wire: tuple[bytes, str] = (b"", "")
        self._position = 0
        self._begun = False
        self._past: list[Counts] = []
        "of streams with other SSRCs"
        self._concealer = Concealer(rate)

    def _new_buffer(self) -> JitterBuffer:
        return JitterBuffer(self.clock, shortest=max(0.02, self._shortest))

    @property
    def counts(self) -> Counts:
        """Counts of the present SSRC."""
        return self._buffer.counts

    def totals(self) -> tuple[int, int, int]:
        """Give packets received, expected and late over all SSRCs."""
        every = [*self._past, self._buffer.counts]
        return (
            sum(one.received for one in every),
            sum(one.expected for one in every),
            sum(one.late for one in every),
        )

    @property
    def concealed(self) -> float:
        """Give how much sound was made up, in seconds."""
        return self._concealer.concealed / self._rate

    def depth(self, now: float) -> float:
        """Give how long sound waits, in seconds."""
        return self._buffer.depth(now)

    @property
    def target(self) -> float:
        """Give the depth the buffer aims at, in seconds."""
        return self._buffer.target

    def push(self, packet: Packet, codec: str, now: float) -> None:
        """Take a packet of sound."""
        self._follow(packet)
        units = self._coder(codec).units(packet.payload)
        if units <= 0:
            return
        self._codecs[packet.sequence] = codec
        self._buffer.push(packet.sequence, packet.timestamp, packet.payload, now, units)
        if len(self._codecs) > 1024:
            self._codecs = dict(list(self._codecs.items())[-256:])

    def skip(self, packet: Packet, now: float) -> None:
        """Take a packet that is no sound: a key, or comfort noise."""
        self._follow(packet)
        self._buffer.push(packet.sequence, packet.timestamp, b"", now, 0)

    def _follow(self, packet: Packet) -> None:
        """Begin anew when the far side sends from another source (RFC 3550, section 8.2)."""
        if packet.ssrc == self.ssrc:
            return
        if self.ssrc is not None:
            self._past = [*self._past[-15:], self._buffer.counts]
            self._buffer = self._new_buffer()
        self.ssrc = packet.ssrc

    def _coder(self, codec: str) -> Coder:
        coder = self._coders.get(codec)
        if coder is None:
            coder = self._coders[codec] = coder_for(CODECS[codec])
        return coder

    def pull(self, now: float) -> AudioFrame | None:
        """Give the next 20 ms; None before there was anything at all."""
        need = self._rate // 50 * 2
        payload, name = b"", ""
        while len(self._pcm) < need:
            piece = self._next(now)
            if not self._pcm and len(piece) == need:
                payload, name = self._wire
            self._pcm += piece
        if not self._begun:
            self._pcm = b""
            return None
        frame = AudioFrame(self._pcm[:need], self._rate, self._position, payload, name)
        self._pcm = self._pcm[need:]
        self._position += need // 2
        return frame

    def _next(self, now: float) -> bytes:
        """Give what the buffer has next, decoded, or what stands in for it."""
        self._wire = (b"", "")
        match self._buffer.pull(now):
            case Waiting() as waiting:
                return self._decode(waiting)
            case Lost(units):
                return self._concealer.lost(units * self._rate // self.clock)
            case Nothing(units):
                return self._concealer.good(bytes(units * self._rate // self.clock * 2))

    def _decode(self, waiting: Waiting) -> bytes:
        self._begun = True
        codec = self._codecs.pop(waiting.sequence & 0xFFFF, "pcmu")
        try:
            pcm = self._coder(codec).decode(waiting.payload)
        except ValueError:
            return self._concealer.lost(waiting.samples * self._rate // self.clock)
        played = self._concealer.good(pcm)
        if waiting.excess >= SHORTEST_CUT:
            return shorten(played, self._rate)
        if codec in ("pcmu", "pcma") and played is pcm:
            self._wire = (waiting.payload, codec)
        return played
