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
    held: float = 0.0
    "seconds within it in which nobody was at the caller's end; no stage has them"

    def skip(self, since: float, until: float) -> None:
        """Leave out a hold: what came before it moves to its end, as near to it as it was."""
        self.held += max(0.0, until - max(since, self.speech_end))
        self.speech_end = after(self.speech_end, since, until)
        self.decided = after(self.decided, since, until)
        self.transcript = _maybe(self.transcript, since, until)
        self.first_token = _maybe(self.first_token, since, until)
        self.first_audio = _maybe(self.first_audio, since, until)
        self.acknowledged = _maybe(self.acknowledged, since, until)
        self.draft_started = _maybe(self.draft_started, since, until)

    def stages(self) -> dict[str, float]:
        """Return the length of each stage in seconds; they sum to `response`."""
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


def after(moment: float, since: float, until: float) -> float:
    """Move a moment out of a hold, as though the clock had stood still from `since` on."""
    return moment + (until - since) if moment <= since else max(moment, until)


def _maybe(moment: float | None, since: float, until: float) -> float | None:
    return None if moment is None else after(moment, since, until)
