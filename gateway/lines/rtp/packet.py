"""What an RTP packet says (RFC 3550, section 5.1), and how ours are numbered."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_HEADER = struct.Struct("!BBHII")


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
        """Return the wire form."""
        second = self.type | (0x80 if self.marker else 0)
        header = _HEADER.pack(0x80, second, self.sequence, self.timestamp, self.ssrc)
        return header + self.payload


def is_rtcp(data: bytes) -> bool:
    """Tell RTCP from RTP on one port (RFC 5761, section 4)."""
    return len(data) >= 8 and 192 <= data[1] <= 223


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
