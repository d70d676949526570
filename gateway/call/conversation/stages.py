"""Where each millisecond of a turn went: intervals of one clock that add up to the response."""

from __future__ import annotations

from dataclasses import dataclass

NAMES = ("end_of_turn", "transcript", "first_token", "first_audio", "line")


@dataclass(slots=True)
class TurnClock:
    """Collects the moments of one turn, in loop seconds; `None` until they are known.

    A stage that was over before the one ahead of it (a draft was ready, a transcript waited)
    took nothing: each moment counts only from the latest one before it.
    """

    turn: int
    speech_end: float
    decided: float
    transcript: float | None = None
    first_token: float | None = None
    first_audio: float | None = None
    heard: float | None = None
    acknowledged: float | None = None
    "when a filler was heard first"
    drafted: bool = False
    draft_started: float | None = None

    def stages(self) -> dict[str, float]:
        """Give the length of each stage in seconds; they sum to `response`."""
        moments = (
            self.decided,
            self.transcript,
            self.first_token,
            self.first_audio,
            self.heard,
        )
        result: dict[str, float] = {}
        reached = self.speech_end
        for name, moment in zip(NAMES, moments, strict=True):
            end = reached if moment is None else max(reached, moment)
            result[name] = end - reached
            reached = end
        return result

    @property
    def response(self) -> float:
        """Seconds from the caller's last voiced sample to the first sample heard."""
        return sum(self.stages().values())

    def saved(self) -> float:
        """Seconds a used draft saved: from its start to the last thing it had ready in time."""
        if not self.drafted or self.draft_started is None:
            return 0.0
        reached = [
            moment
            for moment in (self.transcript, self.first_token, self.first_audio)
            if moment is not None and moment <= self.decided
        ]
        at_work = self.decided if len(reached) < 2 else reached[-1]
        return max(0.0, at_work - self.draft_started)
