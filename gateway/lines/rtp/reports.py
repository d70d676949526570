"""How well a stream goes, as both ends report it (RFC 3550, section 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gateway.lines.rtp import rtcp
from gateway.lines.rtp.packet import Sender
from media.arrivals import Counts

MAX_BYTES = 1500


@dataclass(frozen=True, slots=True)
class Quality:
    """What is known of a call's sound."""

    received: int
    "packets"
    lost: int
    late: int
    concealed: float
    "seconds of sound that were made up"
    jitter: float
    "seconds, of what we receive"
    far_loss: float
    "share lost of what we send, as the far side last said"
    far_jitter: float
    "seconds"
    round_trip: float | None
    "seconds"
    opinion: float | None
    "estimated mean opinion score of what we hear, 1 to 4.5; None: nothing came to have one of"

    def document(self) -> dict[str, float]:
        """Return the figures for the call log, times in seconds."""
        figures = {
            "received": self.received,
            "lost": self.lost,
            "late": self.late,
            "concealed": round(self.concealed, 2),
            "jitter": round(self.jitter, 4),
            "far_loss": round(self.far_loss, 3),
            "far_jitter": round(self.far_jitter, 4),
        }
        if self.opinion is not None:
            figures["mos"] = round(self.opinion, 2)
        if self.round_trip is not None:
            figures["round_trip"] = round(self.round_trip, 4)
        return figures


class Received(Protocol):
    """What is known of the stream that is received; see `gateway.lines.rtp.receiver.Receiver`."""

    ssrc: int | None
    clock: int

    @property
    def counts(self) -> Counts | None:
        """Counts of the present source."""

    @property
    def concealed(self) -> float:
        """Seconds of sound made up."""

    @property
    def target(self) -> float:
        """Seconds of depth that the jitter buffer aims at."""

    @property
    def stretched(self) -> float:
        """Packets of sound made up where none was missing."""

    def totals(self) -> tuple[int, int, int]:
        """Packets received, expected and late over all sources."""


class Reports:
    """Sends and reads the reports of one stream."""

    def __init__(
        self,
        sender: Sender,
        receiver: Received,
        cname: str,
        wall: float,
        draw: Callable[[int], int],
    ) -> None:
        self.round_trip: float | None = None
        self._sender = sender
        self._receiver = receiver
        self._cname = cname
        self._wall = wall
        self._draw = draw
        self._next: float | None = None
        self._heard: tuple[int, float] | None = None
        "middle of the far side's last NTP time, and when it came"
        self._before = (0, 0)
        self._far_loss = 0.0
        self._far_jitter = 0.0

    @property
    def far_loss(self) -> float:
        """Share lost of what we send, as the far side last said."""
        return self._far_loss

    def due(self, now: float) -> list[bytes]:
        """Return a report when it is time for one."""
        if self._next is None or now >= self._next:
            first = self._next is None
            self._next = now + rtcp.INTERVAL * (0.5 + self._draw(1000) / 1000)
            return [] if first else [self.build(now)]
        return []

    def build(self, now: float, *, goodbye: bool = False) -> bytes:
        """Make a compound packet."""
        blocks: tuple[rtcp.Block, ...] = ()
        counts = self._receiver.counts
        if self._receiver.ssrc is not None and counts is not None:
            blocks = (self._block(self._receiver.ssrc, counts, now),)
        sender = self._sender
        report = rtcp.Report(
            sender.ssrc,
            blocks,
            rtcp.ntp_time(self._wall + now) if sender.packets else None,
            sender.timestamp,
            sender.packets,
            sender.octets,
            goodbye,
        )
        return rtcp.encode(report, self._cname)

    def _block(self, ssrc: int, counts: Counts, now: float) -> rtcp.Block:
        last, delay = 0, 0
        if self._heard is not None:
            last = self._heard[0]
            delay = min(0xFFFFFFFF, int((now - self._heard[1]) * 65536))
        return rtcp.Block(
            ssrc,
            self._fraction(counts.expected, counts.received),
            counts.lost,
            counts.highest,
            int(counts.jitter),
            last,
            delay,
        )

    def _fraction(self, expected: int, received: int) -> int:
        """Return the share lost since the last report (RFC 3550, appendix A.3)."""
        since = expected - self._before[0]
        lost = since - (received - self._before[1])
        self._before = (expected, received)
        return min(255, (lost << 8) // since) if since > 0 and lost > 0 else 0

    def receive(self, data: bytes, now: float) -> bool:
        """Take a compound packet; False when it is none."""
        try:
            reports = rtcp.decode(data[:MAX_BYTES])
        except ValueError:
            return False
        for report in reports:
            if report.ntp is not None:
                self._heard = (rtcp.middle(report.ntp), now)
            for block in report.blocks:
                if block.ssrc == self._sender.ssrc:
                    self._take(block, now)
        return True

    def _take(self, block: rtcp.Block, now: float) -> None:
        self._far_loss = block.fraction / 256
        self._far_jitter = block.jitter / self._receiver.clock
        measured = rtcp.round_trip(block, rtcp.ntp_time(self._wall + now))
        if measured is not None:
            self.round_trip = measured

    def quality(self, now: float) -> Quality:
        """Sum up."""
        counts = self._receiver.counts
        received, expected, late = self._receiver.totals()
        lost = max(0, expected - received)
        stretched = self._receiver.stretched
        share = (lost + late + stretched) / (expected + stretched) if expected else 0.0
        one_way = (self.round_trip or 0.0) / 2 + self._receiver.target + 0.02
        return Quality(
            received,
            lost,
            late,
            self._receiver.concealed,
            counts.jitter / self._receiver.clock if counts else 0.0,
            self._far_loss,
            self._far_jitter,
            self.round_trip,
            rtcp.opinion(share, one_way) if expected else None,
        )
