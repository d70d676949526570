"""The calls of this process, from their first line to their last: summed up, noted on the disk."""

from __future__ import annotations

import sys

from gateway.log_events import CallEndedLogged, CallStartedLogged, CallSummaryLogged, LogEvent
from gateway.observe.running import Running
from gateway.observe.summary import Summary


class Courses:
    """Follows every call; lives on the journal's thread alone."""

    def __init__(self, running: Running | None) -> None:
        self._running = running
        self._summaries: dict[str, Summary] = {}

    def take(self, ts: str, call: str, at: float, event: LogEvent) -> CallSummaryLogged | None:
        """Take a line into its call's summary; give that, where the call is over."""
        if isinstance(event, CallStartedLogged):
            self._summaries[call] = Summary()
        summary = self._summaries.get(call)
        if summary is None:
            return None
        summary.take(ts, at, event)
        if not isinstance(event, CallEndedLogged):
            return None
        del self._summaries[call]
        return summary.line(event)

    def note(self, call: str, event: LogEvent) -> None:
        """Keep on the disk which calls there are; without it, only a kill is not made good."""
        if self._running is not None:
            try:
                self._running.note(call, event)
            except OSError as error:
                print(f"parley: calls in progress cannot be noted: {error}", file=sys.stderr)
                self._running = None

    def close(self) -> None:
        """End in good order."""
        if self._running is not None:
            self._running.close()
