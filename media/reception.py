"""How packets become an unbroken stream of frames: ordered, decoded, mended, caught up with."""

from __future__ import annotations

from collections.abc import Callable

from media.conceal import ComfortNoise, Concealer, NoiseShape, shorten
from media.frame import FRAME_SECONDS, AudioFrame
from media.jitter import JitterBuffer, Lost, Nothing, Packet
from media.level import level

QUIET_DB = -50.0
"""Below this a frame holds no speech, and leaving it out is not heard."""


class Reception:
    """Gives 20 ms of sound whenever asked, whatever the network did; one for each stream.

    Frames are numbered from zero without gaps: what did not come was concealed, or is silence.
    """

    def __init__(
        self,
        rate: int,
        decode: Callable[[bytes], bytes],
        *,
        clock: int | None = None,
        codec: str = "",
        mend: Callable[[int, bytes | None], bytes] | None = None,
    ) -> None:
        """Begin empty.

        `rate` is that of the samples `decode` gives (which raises ValueError for garbage), `clock`
        that of the timestamps (None: the same).
        `codec` names the wire form where payloads may be passed through: `pcmu` or `pcma`.
        `mend` is the codec's own concealment, where it has one: given the samples that are missing
        and the payload right behind them (None: not here yet), it gives their substitute.
        """
        self.rate = rate
        self.buffer = JitterBuffer(clock or rate)
        self.concealer = Concealer(rate)
        self.garbage = 0
        """packets that could not be decoded"""
        self._decode = decode
        self._mend = mend
        self._codec = codec
        self._clock = clock or rate
        self._size = round(rate * FRAME_SECONDS) * 2
        self._ready = b""
        self._payload = b""
        self._start = 0
        self._noise: ComfortNoise | None = None

    def push(
        self,
        sequence: int,
        timestamp: int,
        payload: bytes,
        arrival: float,
        samples: int | None = None,
    ) -> None:
        """Take a packet of sound off the wire; see `JitterBuffer.push`."""
        self.buffer.push(sequence, timestamp, payload, arrival, samples)

    def push_noise(self, sequence: int, timestamp: int, payload: bytes, arrival: float) -> None:
        """Take a comfort noise packet: its noise is heard where nothing else is."""
        self.buffer.push(sequence, timestamp, b"", arrival, 0)
        if not payload:
            return
        shape = NoiseShape.parse(payload)
        if self._noise is None:
            self._noise = ComfortNoise(shape)
        else:
            self._noise.change(shape)

    def push_other(self, sequence: int, timestamp: int, arrival: float) -> None:
        """Count a packet of the stream that holds no sound, such as a key."""
        self.buffer.push(sequence, timestamp, b"", arrival, 0)

    def pull(self, now: float) -> AudioFrame:
        """Return the next 20 ms."""
        while len(self._ready) < self._size:
            self._fetch(now + len(self._ready) / 2 / self.rate)
        pcm, self._ready = self._ready[: self._size], self._ready[self._size :]
        payload, self._payload = self._payload, b""
        frame = AudioFrame(pcm, self.rate, self._start, payload, self._codec if payload else "")
        self._start = frame.end
        return frame

    def _fetch(self, now: float) -> None:
        """Append whatever is to be heard next."""
        match self.buffer.pull(now):
            case Packet() as packet:
                self._take(packet)
            case Lost(samples):
                self._append(self._substitute(self._samples(samples), self.buffer.following))
            case Nothing(samples):
                self._append(self.concealer.good(self._silence(self._samples(samples))))

    def _take(self, packet: Packet) -> None:
        try:
            decoded = self._decode(packet.payload)
        except ValueError:
            self.garbage += 1
            self._append(self._substitute(self._samples(packet.samples), None))
            return
        if packet.excess > 0 and level(decoded) < QUIET_DB:
            return
        pcm = self.concealer.good(decoded)
        if packet.excess > 0:
            pcm = shorten(pcm, self.rate)
        if self._codec and not self._ready and pcm is decoded and len(pcm) == self._size:
            self._payload = packet.payload
        self._append(pcm)

    def _substitute(self, samples: int, following: bytes | None) -> bytes:
        """Make up for sound that is missing."""
        if self._mend is None:
            return self.concealer.lost(samples)
        return self.concealer.mended(self._mend(samples, following))

    def _append(self, pcm: bytes) -> None:
        self._ready += pcm

    def _samples(self, clock_units: int) -> int:
        return clock_units * self.rate // self._clock

    def _silence(self, samples: int) -> bytes:
        return bytes(2 * samples) if self._noise is None else self._noise.make(samples)
