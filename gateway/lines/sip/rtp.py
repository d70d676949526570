"""What an RTP packet says (RFC 3550, section 5.1), and what a stream of them adds up to."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_HEADER = struct.Struct("!BBHII")

MAX_DROPOUT = 3000
"""RFC 3550, appendix A.1: a jump by more sequence numbers is another stream."""
MAX_MISORDER = 100


@dataclass(frozen=True, slots=True)
class Packet:
    """One RTP packet, without extension, CSRC list and padding."""

    type: int
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes
    marker: bool = False

    @classmethod
    def parse(cls, data: bytes) -> Packet:
        """Read a packet; raises ValueError."""
        if len(data) < 12:
            raise ValueError("shorter than an RTP header")
        first, second, sequence, timestamp, ssrc = _HEADER.unpack_from(data)
        if first >> 6 != 2:
            raise ValueError("not version 2 of RTP")
        begin, end = 12 + 4 * (first & 0x0F), len(data)
        if first & 0x10:
            if end < begin + 4:
                raise ValueError("the header extension is cut off")
            begin += 4 + 4 * int.from_bytes(data[begin + 2 : begin + 4], "big")
        if first & 0x20:
            if data[-1] == 0:
                raise ValueError("the padding has no length")
            end -= data[-1]
        if begin > end:
            raise ValueError("the header is longer than the packet")
        return cls(second & 0x7F, sequence, timestamp, ssrc, data[begin:end], bool(second & 0x80))

    def encode(self) -> bytes:
        """Give the wire form."""
        second = self.type | (0x80 if self.marker else 0)
        header = _HEADER.pack(0x80, second, self.sequence, self.timestamp, self.ssrc)
        return header + self.payload


def is_rtcp(data: bytes) -> bool:
    """Tell RTCP from RTP on one port (RFC 5761, section 4)."""
    return len(data) >= 8 and 192 <= data[1] <= 223


class Unwrapper:
    """Counts on where a wire counter wraps around."""

    def __init__(self, bits: int) -> None:
        self._span = 1 << bits
        self._last: int | None = None

    def unwrap(self, value: int) -> int:
        """Give the value nearest to the last one that has these low bits."""
        last = self._last
        if last is None:
            self._last = value
            return value
        step = (value - last) % self._span
        if step >= self._span // 2:
            step -= self._span
        result = last + step
        if step > 0:
            self._last = result
        return result


@dataclass(slots=True)
class ReceiverStats:
    """What reports about a stream say (RFC 3550, section 6.4 and appendix A)."""

    received: int = 0
    first: int = -1
    "extended sequence number of the first packet"
    highest: int = -1
    jitter: float = 0.0
    "in units of the RTP clock"
    late: int = 0
    "came, but after the moment they were needed"
    _transit: float | None = None
    _expected_before: int = 0
    _received_before: int = 0

    def note(self, sequence: int, timestamp: int, arrival: float, clock: int) -> None:
        """Count a packet; `sequence` and `timestamp` are unwrapped, `arrival` is in seconds."""
        self.received += 1
        if self.first < 0:
            self.first = sequence
        self.highest = max(self.highest, sequence)
        transit = arrival * clock - timestamp
        if self._transit is not None:
            # Appendix A.8; a step of a second is a new talk spurt with a clock of its own.
            moved = abs(transit - self._transit)
            if moved < clock:
                self.jitter += (moved - self.jitter) / 16
        self._transit = transit

    @property
    def expected(self) -> int:
        """Packets that were sent, as far as their numbers tell."""
        return self.highest - self.first + 1 if self.first >= 0 else 0

    @property
    def lost(self) -> int:
        """Packets that never came; repetitions can make it negative."""
        return self.expected - self.received

    def fraction(self) -> int:
        """Give the share lost since the last call, in 256ths (appendix A.3)."""
        expected = self.expected - self._expected_before
        received = self.received - self._received_before
        self._expected_before, self._received_before = self.expected, self.received
        lost = expected - received
        return min(255, (lost << 8) // expected) if expected > 0 and lost > 0 else 0


class Sender:
    """Numbers what we send: one SSRC, sequence and clock through the whole call."""

    def __init__(self, ssrc: int, sequence: int, timestamp: int) -> None:
        self.ssrc = ssrc
        self.packets = 0
        self.octets = 0
        self._sequence = sequence & 0xFFFF
        self._timestamp = timestamp & 0xFFFFFFFF
        self._marker = True

    @property
    def timestamp(self) -> int:
        """Of the next sample."""
        return self._timestamp

    def mark(self) -> None:
        """Let the next packet of sound begin a talk spurt (RFC 3551, section 4.1)."""
        self._marker = True

    def skip(self, units: int) -> None:
        """Let time pass without sound."""
        self._timestamp = (self._timestamp + units) & 0xFFFFFFFF

    def sound(self, payload_type: int, payload: bytes, units: int) -> bytes:
        """Make the packet of a piece of sound that lasts `units` of the clock."""
        packet = self._packet(payload_type, payload, self._timestamp, self._marker)
        self._marker = False
        self.skip(units)
        return packet

    def event(self, payload_type: int, payload: bytes, timestamp: int, marker: bool) -> bytes:
        """Make the packet of a key; the clock of the sound does not move."""
        return self._packet(payload_type, payload, timestamp, marker)

    def _packet(self, kind: int, payload: bytes, timestamp: int, marker: bool) -> bytes:
        second = kind | (0x80 if marker else 0)
        header = _HEADER.pack(0x80, second, self._sequence, timestamp, self.ssrc)
        self._sequence = (self._sequence + 1) & 0xFFFF
        self.packets += 1
        self.octets += len(payload)
        return header + payload
