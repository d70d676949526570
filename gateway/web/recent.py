"""The latest calls as the call log tells them, each with its turns: what the page draws."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.observe.lines import LogLine

CALLS_MOST = 20
TURNS_MOST = 60
"""Of one call, the latest; a page is no archive."""

STAGES = ("end_of_turn", "transcript", "first_token", "first_audio", "line")


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
        """Give the calls that changed after a version, the oldest first."""
        return [call for call in self._calls.values() if call.version > version]

    def _take(self, line: LogLine) -> None:
        call = self._calls.get(line.call)
        if call is None:
            if line.event != "call_started":
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
    match line.event:
        case "call_started":
            call.line, call.agent = line.text("line"), line.text("agent")
            call.caller = line.text("from")
        case "turn_ended":
            call.turns.append(TurnStory(int(line.number("turn") or 0), line.at, line.text("why")))
            del call.turns[:-TURNS_MOST]
        case "caller_spoke":
            _caller_spoke(call, line)
        case "agent_spoke" | "interrupted":
            _agent_spoke(call, line)
        case "turn":
            _timed(call, line)
        case "tool":
            if call.turns and line.text("outcome") == "done":
                call.turns[-1].tools.append(line.text("name"))
        case "fault":
            call.faults.append(": ".join(filter(None, (line.text("part"), line.text("reason")))))
            del call.faults[:-5]
        case "call_ended":
            call.over, call.seconds = True, line.number("seconds") or call.seconds
            call.ended_by, call.reason = line.text("ended_by"), line.text("reason")
        case _:
            pass


def _find(call: CallStory, number: int | None) -> TurnStory | None:
    return next((one for one in reversed(call.turns) if one.turn == number), None)


def _caller_spoke(call: CallStory, line: LogLine) -> None:
    text, number = line.text("text"), line.number("turn")
    if not text:
        return
    turn = _find(call, None if number is None else int(number))
    if turn is None:  # typed: no turn of speech ended
        turn = TurnStory(int(number or 0), line.at, "typed")
        call.turns.append(turn)
    turn.caller = text


def _agent_spoke(call: CallStory, line: LogLine) -> None:
    cut = line.event == "interrupted"
    text = line.text("heard_text" if cut else "text")
    kind = line.text("kind")
    if cut:
        call.cut_ins += line.number("stop_delay") is not None
    if not call.turns:
        call.greeting = " ".join(filter(None, (call.greeting, text)))
    elif kind != "filler":
        turn = call.turns[-1]
        # An answer that was cut into is told after the turn that cut it has not yet ended.
        turn.agent = " ".join(filter(None, (turn.agent, text)))
        turn.cut = turn.cut or cut


def _timed(call: CallStory, line: LogLine) -> None:
    turn = _find(call, int(line.number("turn") or 0))
    stages = line.fields.get("stages")
    if turn is None or not isinstance(stages, Mapping):
        return
    turn.stages = {name: _seconds(stages.get(name)) for name in STAGES}
    turn.response = line.number("response")
    turn.drafted = bool(line.fields.get("drafted"))
    turn.acknowledged = line.number("acknowledged")


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
