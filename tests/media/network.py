"""A network given as lists: which packets come, when, and what the listener then gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from media.jitter import JitterBuffer, Lost, Nothing, Packet, Playable

TICK = 0.02
FRAME = 160
BASE = 0.03
LOST = None


@dataclass
class Listener:
    """Pulls 20 ms a tick and shortens what it is asked to, by a quarter of a frame."""

    buffer: JitterBuffer
    heard: list[Playable] = field(default_factory=list)
    depths: list[tuple[float, float]] = field(default_factory=list)
    ready: int = 0

    def tick(self, now: float) -> None:
        self.depths.append((now, self.buffer.depth(now + self.ready / 8000)))
        while self.ready < FRAME:
            piece = self.buffer.pull(now + self.ready / 8000)
            self.heard.append(piece)
            self.ready += piece.samples
            if isinstance(piece, Packet) and piece.excess > 0:
                self.ready -= FRAME // 4
        self.ready -= FRAME

    @property
    def packets(self) -> list[int]:
        return [int(one.payload) for one in self.heard if isinstance(one, Packet)]

    def count(self, kind: type[Lost] | type[Nothing]) -> int:
        return sum(isinstance(one, kind) for one in self.heard)

    def deepest(self, start: float, end: float) -> float:
        return max(depth for now, depth in self.depths if start <= now <= end)


def play(
    delays: Sequence[float | None],
    buffer: JitterBuffer | None = None,
    *,
    first: int = 0,
    phase: float = 0.007,
    after: float = 0.5,
) -> Listener:
    """Send packet n at n x 20 ms; it arrives `delays[n]` later than the quickest, or never.

    `first` is the first packet's sequence number, and 160 times that its timestamp.
    """
    listener = Listener(buffer or JitterBuffer(8000))
    arrivals = sorted(
        (round(number * TICK + BASE + delay, 6), number)
        for number, delay in enumerate(delays)
        if delay is not None
    )
    at = 0
    for tick in range(round((len(delays) * TICK + BASE + after) / TICK)):
        now = round(tick * TICK + phase, 6)
        while at < len(arrivals) and arrivals[at][0] <= now:
            arrival, number = arrivals[at]
            sequence = (first + number) & 0xFFFF
            timestamp = ((first + number) * FRAME) & 0xFFFFFFFF
            listener.buffer.push(sequence, timestamp, str(number).encode(), arrival)
            at += 1
        listener.tick(now)
    return listener
