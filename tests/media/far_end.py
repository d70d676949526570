"""A far side that plays what reaches it, to be compared with what the ledger believes."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from media.playout import Chunk, Mark, Playout, PlayoutEvent

TICK = 0.02


class FarEnd:
    """Plays chunks in order of arrival, echoes a mark after each, obeys `clear` as Twilio does."""

    def __init__(self, playout: Playout, forward: float = 0.0, back: float = 0.0) -> None:
        self.playout = playout
        self.rate = playout.form.rate
        self.width = playout.form.bytes_per_sample
        self.forward: Callable[[], float] = lambda: forward
        self.back: Callable[[], float] = lambda: back
        self.marks = True
        self.echoes: list[tuple[float, int, str]] = []
        self.pieces: list[tuple[float, Chunk]] = []
        self.over = 0.0
        self.arrived = 0.0
        self.heard: dict[int, bytearray] = {}
        self.numbers = 0
        self.gaps: list[float] = []
        "seconds in which there was nothing to play inside an utterance"

    def send(self, chunks: list[Chunk], now: float) -> None:
        for chunk in chunks:
            # One socket: nothing overtakes.
            self.arrived = max(self.arrived, now + self.forward())
            begins = max(self.arrived, self.over)
            if chunk.start and begins > self.over + 1e-9:
                self.gaps.append(begins - self.over)
            self.over = begins + len(chunk.payload) / self.width / self.rate
            self.pieces.append((begins, chunk))

    def clear(self, now: float) -> None:
        """The clear arrives after its own delay; what was not played then never is."""
        when = self.arrived = max(self.arrived, now + self.forward())
        self.play(when)
        for begins, chunk in self.pieces:
            played = round(max(0.0, when - begins) * self.rate)
            self.hear(chunk, played)
            self.echo(chunk, when)
        self.pieces.clear()
        self.over = when

    def play(self, now: float) -> None:
        """Play up to `now`."""
        while self.pieces:
            begins, chunk = self.pieces[0]
            ends = begins + len(chunk.payload) / self.width / self.rate
            if ends > now + 1e-9:
                break
            self.pieces.pop(0)
            self.hear(chunk, chunk.end - chunk.start)
            self.echo(chunk, ends)

    def hear(self, chunk: Chunk, samples: int) -> None:
        sound = self.heard.setdefault(chunk.utterance, bytearray())
        sound += chunk.payload[: min(samples, chunk.end - chunk.start) * self.width]

    def echo(self, chunk: Chunk, when: float) -> None:
        self.numbers += 1
        if self.marks:
            heapq.heappush(self.echoes, (when + self.back(), self.numbers, chunk.mark.name()))

    def truth(self, utterance: int, now: float) -> int:
        """Samples of an utterance really played by `now`."""
        self.play(now)
        samples = len(self.heard.get(utterance, b"")) // self.width
        for begins, chunk in self.pieces:
            if chunk.utterance == utterance and begins < now:
                samples += min(chunk.end - chunk.start, round((now - begins) * self.rate))
        return samples

    def deliver(self, now: float) -> None:
        """Bring the echoes that have arrived by `now` to the ledger, each at its own time."""
        self.play(now)
        while self.echoes and self.echoes[0][0] <= now + 1e-9:
            when, _, name = heapq.heappop(self.echoes)
            self.playout.acknowledge(Mark.parse(name), when)

    def tick(self, now: float) -> list[PlayoutEvent]:
        """One beat of a call: echoes in, events out, sound out."""
        self.deliver(now)
        events = self.playout.poll(now)
        self.send(self.playout.pull(now), now)
        return events

    def run(self, start: float, ticks: int) -> list[PlayoutEvent]:
        events = []
        for number in range(ticks):
            events += self.tick(round(start + number * TICK, 6))
        return events
