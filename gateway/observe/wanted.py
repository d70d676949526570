"""Which lines of a log somebody asked for: of a call, a time, an agent, with some words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gateway.log_events import CallEndedLogged, CallStartedLogged
from gateway.observe.lines import LogLine, is_call, is_called


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for; what is empty asks for nothing."""

    call: str = ""
    "its id, or SIP's Call-ID, or either end of one"
    since: str = ""
    "RFC 3339, UTC, as lines have it"
    until: str = ""
    agent: str = ""
    words: str = ""
    "whatever their case"

    @property
    def everything(self) -> bool:
        """Return whether nothing is asked for in particular."""
        return self == Wanted()


class Choice:
    """Chooses lines; told every line of the log in its order, also those before the time."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._words = wanted.words.casefold()
        self._called: set[str] = set()
        "calls that were asked for by what SIP calls them"
        self._agents: set[str] = set()
        "calls in progress of the agent"

    def takes(self, line: LogLine) -> bool:
        """Return whether a line was asked for."""
        wanted = self._wanted
        if wanted.call and is_called(line, wanted.call):
            self._called.add(line.call)
        return (
            (is_call(line, wanted.call) or line.call in self._called)
            and self._answered(line)
            and wanted.since <= line.ts
            and (not wanted.until or line.ts < wanted.until)
            and (not self._words or _holds(line.fields, self._words))
        )

    def _answered(self, line: LogLine) -> bool:
        """Return whether the agent that was asked for has this call, or would have had it."""
        agent = self._wanted.agent
        if not agent:
            return True
        match line.told:
            case CallStartedLogged(agent=name) if name == agent:
                self._agents.add(line.call)
            case CallEndedLogged() if line.call in self._agents:
                self._agents.discard(line.call)
                return True
            case _:
                pass
        return line.call in self._agents or line.fields.get("agent") == agent


def _holds(value: object, words: str) -> bool:
    match value:
        case str():
            return words in value.casefold()
        case Mapping():
            return any(_holds(each, words) for each in value.values())
        case Iterable():
            return any(_holds(each, words) for each in value)
        case _:
            return False
