"""The latest calls as the call log tells them, each with its turns: what the page draws."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from gateway.log_events import (
    AgentSpokeLogged,
    CallEndedLogged,
    CallerSpokeLogged,
    CallStartedLogged,
    FaultLogged,
    InterruptedLogged,
    ToolLogged,
    TurnEndedLogged,
    TurnLogged,
)
from gateway.observe.lines import LogLine, printable

CALLS_MOST = 20
TURNS_MOST = 60
"""Of one call, the latest; a page is no archive."""


@dataclass(slots=True)
class TurnStory:
    """One turn of the caller and what answered it."""

    turn: int
    at: float
    "seconds since the call was answered, when the turn ended"
    why: str = ""
    caller: str = ""
    agent: str = ""
    cut: bool = False
    "the caller cut in on the answer"
    stages: dict[str, float] = field(default_factory=dict)
    response: float | None = None
    drafted: bool = False
    acknowledged: float | None = None
    tools: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CallStory:
    """One call."""

    id: str
    began: str
    "RFC 3339"
    line: str = ""
    agent: str = ""
    caller: str = ""
    greeting: str = ""
    turns: list[TurnStory] = field(default_factory=list)
    cut_ins: int = 0
    faults: list[str] = field(default_factory=list)
    over: bool = False
    ended_by: str = ""
    reason: str = ""
    seconds: float = 0.0
    "so far, or in all"
    version: int = 0
    "counts changes of all calls, so that a viewer can ask for what is new"


class Recent:
    """Folds log lines into the latest calls."""

    def __init__(self, started: str = "") -> None:
        """Take when this process started (RFC 3339): older calls are over, told so or not."""
        self.version = 0
        self._started = started
        self._calls: OrderedDict[str, CallStory] = OrderedDict()

    def take(self, lines: Iterable[LogLine]) -> None:
        """Take lines in the order in which they were written."""
        for line in lines:
            if line.call:
                self._take(line)

    def since(self, version: int) -> list[CallStory]:
        """Return the calls that changed after a version, the oldest first."""
        return [call for call in self._calls.values() if call.version > version]

    def _take(self, line: LogLine) -> None:
        call = self._calls.get(line.call)
        if call is None:
            if not isinstance(line.told, CallStartedLogged):
                return  # its beginning is not in what was read
            call = self._calls[line.call] = CallStory(line.call, line.ts)
            if line.ts < self._started:  # until its end is read
                call.over, call.ended_by, call.reason = True, "failure", "the gateway went away"
            if len(self._calls) > CALLS_MOST:
                self._calls.popitem(last=False)
        self.version += 1
        call.version = self.version
        call.seconds = max(call.seconds, line.at)
        _tell(call, line)


def _tell(call: CallStory, line: LogLine) -> None:
    match line.told:
        case CallStartedLogged() as started:
            call.line, call.agent = printable(started.line), printable(started.agent)
            call.caller = printable(started.caller)
        case TurnEndedLogged(turn=turn, why=why):
            call.turns.append(TurnStory(turn, line.at, why))
            del call.turns[:-TURNS_MOST]
        case CallerSpokeLogged(turn=number, text=text):
            _caller_spoke(call, line.at, number, printable(text))
        case AgentSpokeLogged(kind=kind, text=text):
            _agent_spoke(call, kind, printable(text))
        case InterruptedLogged(kind=kind, heard_text=text) as cut:
            call.cut_ins += cut.stop_delay is not None
            _agent_spoke(call, kind, printable(text), cut=True)
        case TurnLogged() as turn:
            _timed(call, turn)
        case ToolLogged(outcome="done", name=name) if call.turns:
            call.turns[-1].tools.append(printable(name))
        case FaultLogged(part=part, reason=reason):
            call.faults.append(printable(": ".join(filter(None, (part, reason)))))
            del call.faults[:-5]
        case CallEndedLogged() as ended:
            call.over, call.seconds = True, ended.seconds
            call.ended_by, call.reason = ended.ended_by, printable(ended.reason)
        case _:
            pass


def _find(call: CallStory, number: int | None) -> TurnStory | None:
    return next((one for one in reversed(call.turns) if one.turn == number), None)


def _caller_spoke(call: CallStory, at: float, number: int | None, text: str) -> None:
    if not text:
        return
    turn = _find(call, number)
    if turn is None:  # typed: no turn of speech ended
        turn = TurnStory(number or 0, at, "typed")
        call.turns.append(turn)
    turn.caller = text


def _agent_spoke(call: CallStory, kind: str, text: str, *, cut: bool = False) -> None:
    if not call.turns:
        call.greeting = " ".join(filter(None, (call.greeting, text)))
    elif kind != "filler":
        turn = call.turns[-1]
        # An answer that was cut into is told after the turn that cut it has not yet ended.
        turn.agent = " ".join(filter(None, (turn.agent, text)))
        turn.cut = turn.cut or cut


def _timed(call: CallStory, timed: TurnLogged) -> None:
    turn = _find(call, timed.turn)
    if turn is not None:
        turn.stages = msgspec.structs.asdict(timed.stages)
        turn.response, turn.drafted = timed.response, timed.drafted
        turn.acknowledged = timed.acknowledged
