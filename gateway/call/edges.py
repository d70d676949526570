"""Where the caller's turns begin and end by energy, closer than a voice model sees it."""

from __future__ import annotations

from gateway.call.caller_stream import ContinuousStream
from media.level import voiced_span

EDGE_SECONDS = 0.35
"""How far the energy edge may lie from the voice model's: it calls a stop 70 ms late in the median
and is late by up to 0.3 s after a fading last syllable."""

ONSET_SECONDS = 1.2
"""How far before the voice model's first speech a turn may begin by energy: after a silence it can
miss a whole "um, ", and recognisers go wrong on what then seems to begin in mid-sentence."""


class Edges:
    """Moves the edges that turn-taking gives to where the sound is."""

    def __init__(self, stream: ContinuousStream) -> None:
        self._stream = stream
        self._began: int | None = None
        self._free = 0
        "nothing before this position belongs to the present turn"

    def free(self, position: int) -> None:
        """What lies before `position` belongs to no turn: the agent was sounding until then."""
        self._free = position

    def begin(self, start: int, *, sounding: bool) -> int:
        """Return where a turn began that the voice model saw from `start` on; once a turn."""
        if self._began is not None:
            return start
        self._began = start
        if (
            not sounding
        ):  # else there may be echo before it, and a claim counts from its first sound
            first = max(self._free, start - int(ONSET_SECONDS * self._stream.rate))
            span = self._voiced(first)
            if span is not None:
                self._began = min(start, span[0])
        return self._began

    def beginning(self, start: int) -> int:
        """Return where the present turn began, which turn-taking takes for `start`."""
        return start if self._began is None else min(self._began, start)

    def drop(self, at: int) -> None:
        """What began last was no turn: none before `at` belongs to the next."""
        self._began, self._free = None, at

    def end(self, start: int, end: int, at: int) -> tuple[int, int]:
        """End the present turn at `at`: give its first and its last voiced sample."""
        began = self.beginning(start)
        self._began, self._free = None, at
        margin = int(EDGE_SECONDS * self._stream.rate)
        span = self._voiced(max(start - margin, end - 8 * self._stream.rate))
        if span is not None and abs(span[1] - end) <= margin:
            return began, span[1]
        return began, end

    def _voiced(self, first: int) -> tuple[int, int] | None:
        """Find the voiced span of what is kept from `first` on, in positions of the stream."""
        sound = self._stream.recent.take(first, self._stream.end)
        span = voiced_span(sound, self._stream.rate)
        if span is None:
            return None
        base = self._stream.end - len(sound)
        return base + span[0], base + span[1]
