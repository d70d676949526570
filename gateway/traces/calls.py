"""Follows every call of a log."""

from __future__ import annotations

from gateway.log_events import CallEndedLogged, CallStartedLogged
from gateway.observe.lines import LogLine
from gateway.traces.span import Span
from gateway.traces.spans import CallTrace


class Traces:
    """Follows every call of a log."""

    def __init__(self, personal: bool = False) -> None:
        self._personal = personal
        self._calls: dict[str, CallTrace] = {}

    def take(self, line: LogLine) -> list[Span]:
        """Take a line; give what is over by it."""
        if not line.call:
            return []
        if isinstance(line.told, CallStartedLogged):
            self._calls[line.call] = CallTrace(line.call, self._personal)
        call = self._calls.get(line.call)
        if call is None:
            return []
        spans = call.take(line)
        if isinstance(line.told, CallEndedLogged):
            del self._calls[line.call]
        return spans
