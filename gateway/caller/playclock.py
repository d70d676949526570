"""When a caller hears what: the far side's queue, which plays in order and in real time.

Positions are samples of the caller's clock: 0 is when the call was answered.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """Sound that was heard, in the line's wire form."""

    start: int
    "position of its first sample"
    payload: bytes


class PlayClock:
    """Decides what is heard when; sound that comes while nothing plays is heard at once."""

    def __init__(self, bytes_per_sample: int = 1) -> None:
        self._width = bytes_per_sample
        self._end = 0
        self._queue: deque[Piece] = deque()
        self._marks: deque[tuple[int, str]] = deque()

    def push(self, payload: bytes, at: int) -> None:
        """Queue sound that arrives at position `at`."""
        start = max(self._end, at)
        self._queue.append(Piece(start, payload))
        self._end = start + len(payload) // self._width

    def mark(self, name: str, at: int) -> int:
        """Put a mark behind what is queued, and give its position; behind nothing: `at`."""
        place = max(self._end, at)
        self._marks.append((place, name))
        return place

    def clear(self, at: int) -> list[str]:
        """Forget what is not played by `at`, and give all marks back.

        What was played by then must have been taken with `advance`.
        """
        self._queue.clear()
        self._end = min(self._end, at)
        names = [name for _, name in self._marks]
        self._marks.clear()
        return names

    def advance(self, to: int) -> tuple[list[Piece], list[str]]:
        """Return what was heard up to position `to` since the last time, and the marks passed."""
        heard: list[Piece] = []
        while self._queue and self._queue[0].start < to:
            piece = self._queue.popleft()
            here = (to - piece.start) * self._width
            if here < len(piece.payload):
                self._queue.appendleft(Piece(to, piece.payload[here:]))
                piece = Piece(piece.start, piece.payload[:here])
            heard.append(piece)
        passed: list[str] = []
        while self._marks and self._marks[0][0] <= to:
            passed.append(self._marks.popleft()[1])
        return heard, passed

    def ahead(self, at: int) -> int:
        """Return how many samples wait at position `at`."""
        return max(0, self._end - at)
