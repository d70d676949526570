"""Sums a call up in one line that a database can take: numbers and names, nothing nested."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from gateway.log_events import (
    BackchannelLogged,
    CallEndedLogged,
    CallStartedLogged,
    CallSummaryLogged,
    DeedLogged,
    FaultLogged,
    InterruptedLogged,
    LogEvent,
    ReleasedLogged,
    ResumedLogged,
    ToolLogged,
    TurnEndedLogged,
    TurnLogged,
)


@dataclass(slots=True)
class Summary:
    """What is known of one call; told every line of it, in order."""

    started: CallStartedLogged | None = None
    began: str = ""
    "RFC 3339, UTC"
    at: float = 0.0
    "of its latest line"
    turns: int = 0
    responses: list[float] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)
    went_on: int = 0
    tools: int = 0
    deeds: dict[str, str] = field(default_factory=dict)
    "keys of writes that are under way, with the tool's name"
    done: int = 0
    faults: int = 0
    held: float = 0.0
    ended: bool = False

    def take(self, ts: str, at: float, event: LogEvent) -> None:
        """Take one line."""
        self.at = max(self.at, at)
        match event:
            case CallStartedLogged():
                self.started, self.began = event, ts
            case TurnEndedLogged(turn=turn):
                self.turns = max(self.turns, turn)
            case TurnLogged(response=response):
                self.responses.append(response)
            case InterruptedLogged(stop_delay=float(delay)):
                self.stops.append(delay)
            case BackchannelLogged() | ResumedLogged():
                self.went_on += 1
            case ToolLogged(outcome="asked"):
                self.tools += 1
            case DeedLogged(state="begun", key=key, name=name):
                self.deeds[key] = name
            case DeedLogged(key=key, outcome=outcome):
                self.deeds.pop(key, None)
                self.done += outcome == "done"
            case FaultLogged():
                self.faults += 1
            case ReleasedLogged(seconds=seconds):
                self.held += seconds
            case CallEndedLogged():
                self.ended = True
            case _:
                pass

    def line(self, ended: CallEndedLogged) -> CallSummaryLogged:
        """Return the line, at the call's end."""
        started, responses = self.started, sorted(self.responses)
        return CallSummaryLogged(
            began=self.began,
            line=started.line if started else "",
            direction=started.direction if started else "inbound",
            agent=started.agent if started else "",
            caller=started.caller if started else "",
            callee=started.callee if started else "",
            recording=started.recording if started else None,
            ended_by=ended.ended_by,
            reason=ended.reason,
            seconds=ended.seconds,
            turns=ended.turns,
            response_median=median(responses) if responses else None,
            response_max=responses[-1] if responses else None,
            cut_ins=len(self.stops),
            stop_delay_median=median(self.stops) if self.stops else None,
            went_on=self.went_on,
            tools=self.tools,
            deeds=self.done,
            faults=self.faults,
            held=self.held,
        )
