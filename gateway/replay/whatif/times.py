"""Tells where times and positions of a call that is run again were in its recording."""

from __future__ import annotations

from gateway.replay.whatif.story import Clock
from gateway.replay.whatif.timeline import Timeline


class Times:
    """Where times and positions of now were then."""

    def __init__(self, sound_began: float, timeline: Timeline) -> None:
        self.delta = 0.0
        "loop seconds less those of the recording's clock"
        self._sound_began = sound_began
        self._timeline = timeline
        self._shifts: list[tuple[float, float]] = [(0.0, 0.0)]
        "since when the caller is so much later"

    def note(self, beat: float) -> None:
        """Note by how much they are later at this beat."""
        if self._shifts[-1][1] != self._timeline.shift:
            self._shifts.append((beat, self._timeline.shift))

    def clock(self) -> Clock:
        """Return the recording's clock, for records of now."""
        return Clock(self._time, lambda at: self._sound_began + self._timeline.then(at))

    def _time(self, t: float) -> float:
        beat = t - self.delta
        return beat - next(shift for since, shift in reversed(self._shifts) if beat >= since)
