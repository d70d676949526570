"""Counts what a process has logged since it began: for health, without reading the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gateway.log_events import (
    CallEndedLogged,
    CallStartedLogged,
    FaultLogged,
    LogEvent,
    RecoveredLogged,
)

MODELS = frozenset({"session", "recogniser", "model", "voice", "voice_activity", "turn_detector"})
"""Parts of a call that are models, here or at somebody's server."""


class Tally:
    """Takes every line as it is logged; told on one thread, looked at from any."""

    def __init__(self) -> None:
        self.calls = 0
        self.ended: Counter[str] = Counter()
        "calls, by who ended them"
        self.faults: Counter[str] = Counter()
        "by part"
        self._failing: dict[str, frozenset[str]] = {}
        "calls in progress, with the parts that fail in them"

    def take(self, call: str, event: LogEvent) -> None:
        """Count one line."""
        match event:
            case CallStartedLogged():
                self.calls += 1
            case FaultLogged(part=part):
                self.faults[part] += 1
                if part in MODELS:
                    self._failing[call] = self._failing.get(call, frozenset()) | {part}
            case RecoveredLogged(part=part):
                self._failing[call] = self._failing.get(call, frozenset()) - {part}
            case CallEndedLogged(ended_by=by):
                self.ended[by] += 1
                self._failing.pop(call, None)
            case _:
                pass

    @property
    def failing(self) -> Mapping[str, int]:
        """Parts that failed in calls that go on, and have not recovered; in how many calls."""
        return Counter(part for parts in tuple(self._failing.values()) for part in parts)
