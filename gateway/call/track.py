"""The agent's side of a recording: what the caller heard, at the time they heard it."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from media.codec import WireForm

SETTLED_SECONDS = 0.6
"""What left this long ago was heard: longer than any lead and path this gateway keeps."""


class StereoSink(Protocol):
    """Where both sides are written; positions are samples since the call began."""

    def left(self, start: int, pcm: bytes) -> None:
        """Write the caller."""

    def right(self, start: int, pcm: bytes) -> None:
        """Write the agent."""

    def close(self) -> None:
        """Finish the file."""


class AgentTrack:
    """Holds what left until it was surely heard, so that what a clear undid is not recorded."""

    def __init__(self, sink: StereoSink, form: WireForm) -> None:
        self._sink = sink
        self._form = form
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._next = 0
        self._settled = int(SETTLED_SECONDS * form.rate)

    def left_here(self, position: int, payload: bytes) -> None:
        """A frame left when the caller's stream was at `position`; it plays after the last one."""
        start = max(self._next, position)
        self._waiting.append((start, payload))
        self._next = start + len(payload) // self._form.bytes_per_sample

    def tick(self, position: int) -> None:
        """Write what has settled."""
        while self._waiting and self._waiting[0][0] + self._settled < position:
            self._write(*self._waiting.popleft())

    def cleared(self, position: int) -> None:
        """The far side forgot what it had not played at `position`."""
        while self._waiting and self._waiting[-1][0] >= position:
            self._waiting.pop()
        if self._waiting:
            start, payload = self._waiting[-1]
            keep = (position - start) * self._form.bytes_per_sample
            self._waiting[-1] = (start, payload[:keep])
        self._next = min(self._next, max(0, position))

    def close(self) -> None:
        """Write the rest and finish."""
        while self._waiting:
            self._write(*self._waiting.popleft())
        self._sink.close()

    def _write(self, start: int, payload: bytes) -> None:
        self._sink.right(start, self._form.decode(payload))
