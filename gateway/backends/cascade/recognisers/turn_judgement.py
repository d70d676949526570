"""What a recogniser that judges turns thinks of the present one."""

from __future__ import annotations

from gateway.backends.cascade.ports import Transcript, TurnAdvice
from gateway.events import BackendTurn

BEHIND = 0.3
"""Seconds by which its judgement may lie behind a pause: Flux speaks every quarter of a second."""


class TurnJudgement:
    """Keeps the latest judgement; says what it would mean where the recogniser decides."""

    def __init__(self) -> None:
        self.ended = ""
        "words of the turn that the recogniser ended last"
        self._latest: TurnAdvice | None = None

    def hear(self, heard: Transcript) -> tuple[BackendTurn, ...]:
        """Take a partial; give the decisions that are in it."""
        advice = heard.turn
        if advice is None:
            return ()
        self._latest = advice
        if advice.kind == "started":
            return (BackendTurn("speech_started"),)
        if advice.kind == "ended" and heard.text.strip():
            self.ended = heard.text
            return BackendTurn("speech_stopped"), BackendTurn("ended", heard.text)
        return ()

    def done(self, at: int, rate: int) -> float | None:
        """Return the probability that the caller was done at `at`; None: it had not heard so far,
        or judges no turns."""
        latest = self._latest
        if latest is None or latest.position < at - BEHIND * rate:
            return None
        return latest.probability
