"""What the two ends of a stream tell each other about it (RFC 3550, section 6)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

SENDER, RECEIVER, DESCRIPTION, GOODBYE = 200, 201, 202, 203
NTP_EPOCH = 2_208_988_800
"""Seconds from 1900 to 1970."""
INTERVAL = 5.0
"""Section 6.2: five seconds, varied by half so that the two ends do not fall into step."""

_REPORT = struct.Struct("!IIIIII")


@dataclass(frozen=True, slots=True)
class Block:
    """What one end says about a stream it receives."""

    ssrc: int
    fraction: int
    "lost since the last report, in 256ths"
    lost: int
    highest: int
    "extended sequence number, modulo 2**32"
    jitter: int
    "in units of the RTP clock"
    last: int
    "middle 32 bits of the NTP time of the last sender report heard, 0 for none"
    delay: int
    "since then, in 65536ths of a second"


@dataclass(frozen=True, slots=True)
class Report:
    """A sender or receiver report."""

    ssrc: int
    blocks: tuple[Block, ...] = ()
    ntp: int | None = None
    "64 bits; None in a receiver report"
    timestamp: int = 0
    packets: int = 0
    octets: int = 0
    goodbye: bool = False


def ntp_time(wall: float) -> int:
    """Return the 64 bits of a wall clock time."""
    return int((wall + NTP_EPOCH) * 4294967296) & 0xFFFFFFFFFFFFFFFF


def middle(ntp: int) -> int:
    """Return the middle 32 bits."""
    return (ntp >> 16) & 0xFFFFFFFF


def round_trip(block: Block, now: int) -> float | None:
    """Return the round trip in seconds (section 6.4.1); `now` is 64 bits of NTP time."""
    if not block.last:
        return None
    units = (middle(now) - block.last - block.delay) & 0xFFFFFFFF
    # Clocks that are off by a step give nonsense near 2**32; nobody talks over 10 s of delay.
    return units / 65536 if units < 10 * 65536 else None


def _block(block: Block) -> bytes:
    lost = max(-0x800000, min(0x7FFFFF, block.lost)) & 0xFFFFFF
    return _REPORT.pack(
        block.ssrc,
        block.fraction << 24 | lost,
        block.highest & 0xFFFFFFFF,
        block.jitter & 0xFFFFFFFF,
        block.last,
        block.delay,
    )


def encode(report: Report, cname: str) -> bytes:
    """Return a compound packet: report, CNAME and, at the end, BYE (section 6.1)."""
    body = struct.pack("!I", report.ssrc)
    kind = RECEIVER
    if report.ntp is not None:
        kind = SENDER
        body += struct.pack(
            "!QIII",
            report.ntp,
            report.timestamp & 0xFFFFFFFF,
            report.packets & 0xFFFFFFFF,
            report.octets & 0xFFFFFFFF,
        )
    body += b"".join(_block(block) for block in report.blocks)
    data = _packet(kind, len(report.blocks), body)
    name = cname.encode()[:255]
    item = struct.pack("!IBB", report.ssrc, 1, len(name)) + name + b"\0"
    data += _packet(DESCRIPTION, 1, item + bytes(-len(item) % 4))
    if report.goodbye:
        data += _packet(GOODBYE, 1, struct.pack("!I", report.ssrc))
    return data


def _packet(kind: int, count: int, body: bytes) -> bytes:
    return struct.pack("!BBH", 0x80 | count, kind, len(body) // 4) + body


def decode(data: bytes) -> list[Report]:
    """Read the reports of a compound packet; raises ValueError."""
    reports: list[Report] = []
    while data:
        if len(data) < 4 or data[0] >> 6 != 2:
            raise ValueError("not RTCP")
        count, kind = data[0] & 0x1F, data[1]
        end = 4 + 4 * int.from_bytes(data[2:4], "big")
        if end > len(data):
            raise ValueError("an RTCP packet is cut off")
        body, data = data[4:end], data[end:]
        if kind in (SENDER, RECEIVER):
            reports.append(_report(kind, count, body))
        elif kind == GOODBYE and len(body) >= 4:
            reports.append(Report(int.from_bytes(body[:4], "big"), goodbye=True))
    return reports


def _report(kind: int, count: int, body: bytes) -> Report:
    head = 24 if kind == SENDER else 4
    if len(body) < head + 24 * count:
        raise ValueError("a report is cut off")
    blocks = tuple(_read_block(body, head + 24 * index) for index in range(count))
    ssrc = int.from_bytes(body[:4], "big")
    if kind == RECEIVER:
        return Report(ssrc, blocks)
    ntp, timestamp, packets, octets = struct.unpack_from("!QIII", body, 4)
    return Report(ssrc, blocks, ntp, timestamp, packets, octets)


def _read_block(body: bytes, at: int) -> Block:
    ssrc, loss, highest, jitter, last, delay = _REPORT.unpack_from(body, at)
    lost = loss & 0xFFFFFF
    return Block(
        ssrc,
        loss >> 24,
        lost - 0x1000000 if lost & 0x800000 else lost,
        highest,
        jitter,
        last,
        delay,
    )


def opinion(loss: float, one_way: float) -> float:
    """Estimate the mean opinion score of G.711 with concealment (ITU-T G.107, G.113 appendix I).

    `loss` is a share from 0 to 1, `one_way` the delay in seconds, buffers included.
    """
    milliseconds = one_way * 1000
    delay = 0.024 * milliseconds + 0.11 * max(0.0, milliseconds - 177.3)
    # G.113: Ie = 0 and Bpl = 25.1 for G.711 with packet loss concealment and random loss.
    equipment = 95 * (loss * 100) / (loss * 100 + 25.1)
    factor = max(0.0, min(100.0, 93.2 - delay - equipment))
    score = 1 + 0.035 * factor + factor * (factor - 60) * (100 - factor) * 7e-6
    return max(1.0, min(4.5, score))
