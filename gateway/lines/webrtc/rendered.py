"""Which sample of which utterance a page was playing, from the RTP time that it names."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from media.playout import Chunk

WRAP = 1 << 32
KEEP_SECONDS = 12.0
"""How far back a report may lie: a page that was away for as long as a call waits for it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One frame that left."""

    utterance: int
    start: int
    "position in the utterance, in samples"
    end: int
    when: float
    "loop seconds"


@dataclass(frozen=True, slots=True)
class Rendered:
    """Where the far side is."""

    utterance: int
    "0: in silence before anything was said"
    position: int
    "samples of the utterance that were played"
    delay: float
    "seconds from the socket to the ear"
    speaking: bool
    "the sample itself belongs to the utterance, and is no silence behind it"


class Timeline:
    """Remembers when each piece of sound left, by RTP time; one for each stream."""

    def __init__(self, clock: int, rate: int, first: int) -> None:
        """`clock` is that of RTP, `first` the timestamp of the first packet."""
        self._clock = clock
        self._rate = rate
        self._frame = clock // 50
        self._next = first
        "extended timestamp of the next frame"
        self._frames: deque[Sent] = deque(maxlen=round(KEEP_SECONDS * 50))

    def sent(self, chunk: Chunk | None, when: float) -> None:
        """Enter the next 20 ms: a frame of an utterance, or silence (None)."""
        if chunk is not None:
            self._frames.append(Sent(chunk.utterance, chunk.start, chunk.end, when))
        else:
            last = self._frames[-1] if self._frames else Sent(0, 0, 0, when)
            self._frames.append(Sent(last.utterance, last.end, last.end, when))
        self._next += self._frame

    def skip(self, units: int) -> None:
        """Let the stream's clock jump: what lies before is not asked for any more."""
        self.forget()
        self._next += units

    def forget(self) -> None:
        """Name no place in what was sent before: nobody was there to hear it."""
        self._frames.clear()

    def at(self, timestamp: int, when: float) -> Rendered | None:
        """Return what was heard at loop time `when`, when the sample with this RTP time was played.

        None for a time that was not sent, or is forgotten.
        """
        back = (self._next - timestamp) % WRAP
        if not 0 < back <= self._frame * len(self._frames):
            return None
        index = len(self._frames) - 1 - (back - 1) // self._frame
        within = self._frame - 1 - (back - 1) % self._frame
        frame = self._frames[index]
        position = min(frame.start + within * self._rate // self._clock, frame.end)
        delay = when - (frame.when + within / self._clock)
        return Rendered(frame.utterance, position, delay, frame.end > frame.start)
