"""Makes spans of a call from its log lines, a turn at a time, from the log's own times.

The names are those that are proposed for voice in OpenTelemetry's conventions for generative AI;
what has none there is called `parley.*`, and what is personal `parley.pii.*`.
A turn is a span, and a call never is: the spans of a call share a trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from gateway.log_events import (
    AgentSpokeLogged,
    CallEndedLogged,
    CallerSpokeLogged,
    CallStartedLogged,
    FaultLogged,
    InterruptedLogged,
    LogEvent,
    ToolLogged,
    TurnEndedLogged,
    TurnLogged,
    TurnRejoinedLogged,
    UsageLogged,
)
from gateway.metrics.tokens import tokens
from gateway.observe.lines import LogLine
from gateway.plumbing.trace_context import span_id, trace_id
from gateway.traces.span import Span, Value

OPEN = ("asked", "proposed", "agreed", "again")
"""What is told of a tool before anything came of it."""


@dataclass(slots=True)
class _Tool:
    """What is known of a tool that was asked for."""

    start: float
    arguments: str = ""


@dataclass(slots=True)
class _Turn:
    """What is known of a turn so far; 0 is what the agent said before the first."""

    id: str
    "of its span"
    number: int
    start: float
    end: float
    attributes: dict[str, Value] = field(default_factory=dict)
    parts: list[Span] = field(default_factory=list)
    reason: Literal["completed", "interrupted", "session_closed"] = "completed"
    used: dict[str, Value] = field(default_factory=dict)
    "tokens"
    own_model: bool = False
    "a speech-to-speech model answered"
    answer: tuple[float, float, float, float] | None = None
    "when the turn was over, its words known, the first word and the first sound there"
    error: str = ""


class CallTrace:
    """Follows one call."""

    def __init__(self, call: str, personal: bool = False) -> None:
        """`personal` says whether what was said may be told."""
        self._call = call
        self._trace = trace_id(call)
        self._personal = personal
        self._base = 0.0
        "wall clock of the answer"
        self._agent = ""
        self._line = ""
        self._turn: _Turn | None = None
        self._tools: dict[str, _Tool] = {}
        self._words: dict[int, str] = {}
        "what callers said, where that came before the turn's end"

    def take(self, line: LogLine) -> list[Span]:
        """Take a line; give the spans of a turn that is over by it."""
        event = line.told
        if isinstance(event, CallStartedLogged):
            self._base = seconds(line.ts) - line.at
            self._agent, self._line = event.agent, event.line
        if event is None or not self._base:
            return []
        if isinstance(event, UsageLogged) and not event.figures:
            event = UsageLogged(figures=line.fields)  # they stand beside the head
        return self._event(event, self._base + line.at)

    def _event(self, event: LogEvent, now: float) -> list[Span]:
        match event:
            case TurnEndedLogged():
                done = self._close()
                begun = now - (event.seconds or 0.0)
                self._turn = self._begin(event.turn, begun, now)
                self._tell("parley.turn.why", event.why)
                if event.probability is not None:
                    self._tell("parley.turn.probability", event.probability)
                if words := self._words.pop(event.turn, ""):
                    self._say("caller_text", words)
                return done
            case CallerSpokeLogged(turn=number, text=text):
                if self._turn is not None and number == self._turn.number:
                    self._say("caller_text", text)
                elif number is not None:
                    self._words = {number: text}
            case TurnLogged():
                self._answered(event, now)
            case AgentSpokeLogged() | InterruptedLogged():
                self._spoke(event, now)
            case ToolLogged():
                self._tool(event, now)
            case CallEndedLogged():
                if self._turn is not None and self._turn.answer is None and self._turn.number:
                    self._turn.reason = "session_closed"
                self._extend(now if self._tools else 0.0)
                return self._close()
            case _:
                self._other(event)
        return []

    def _other(self, event: LogEvent) -> None:
        match event:
            case UsageLogged(figures=figures) if self._turn is not None:
                counted = tokens(figures)
                self._turn.own_model |= "input_tokens" in figures
                for kind, name in (("input", "input_tokens"), ("output", "output_tokens"),
                                   ("cached", "cache_read.input_tokens")):  # fmt: skip
                    if kind in counted:
                        at = f"gen_ai.usage.{name}"
                        self._turn.used[at] = int(self._turn.used.get(at, 0)) + int(counted[kind])
            case TurnRejoinedLogged(before=before):
                self._tell("parley.turn.rejoins", before)
            case FaultLogged(part=part) if self._turn is not None:
                self._turn.error = part
            case _:
                pass

    def _answered(self, event: TurnLogged, now: float) -> None:
        """Take that the first sound was heard; stages are intervals that end now."""
        turn = self._turn
        if turn is None or turn.number != event.turn:
            return
        stages = event.stages
        spoken = now - event.response
        over = spoken + stages.end_of_turn
        words = over + stages.transcript
        token = words + stages.first_token
        turn.answer = (over, words, token, token + stages.first_audio)
        length = turn.end - turn.start
        turn.start, turn.end = min(spoken - length, spoken), max(turn.end, now)
        self._tell("parley.perceived_latency", event.response)
        self._tell("parley.drafted", event.drafted)
        if event.acknowledged is not None:
            self._tell("parley.acknowledged", event.acknowledged)

    def _spoke(self, event: AgentSpokeLogged | InterruptedLogged, now: float) -> None:
        if self._turn is None and event.turn is None:
            length = event.seconds if isinstance(event, AgentSpokeLogged) else event.heard
            self._turn = self._begin(0, now - length, now)
        turn = self._turn
        if turn is None or (event.turn is not None and event.turn != turn.number):
            return
        self._extend(now)
        if isinstance(event, InterruptedLogged):
            turn.reason = "interrupted"
            self._tell("parley.heard.seconds", event.heard)
            self._tell("parley.heard.error", event.error)
            self._tell("parley.heard.basis", event.basis)
            self._tell("parley.interruption.evidence", event.evidence.partition(":")[0])
            if event.stop_delay is not None:
                self._tell("parley.interruption.stop_delay", event.stop_delay)
            self._say("heard_text", event.heard_text)
        self._say("agent_text", event.text)

    def _tool(self, event: ToolLogged, now: float) -> None:
        ask = event.ask or event.name
        if event.outcome in OPEN:
            if event.outcome == "asked":
                self._tools[ask] = _Tool(now, str(dict(event.arguments or {})))
            return
        begun = self._tools.pop(ask, None)
        turn = self._turn
        if turn is None:
            return
        start = begun.start if begun is not None else now - (event.seconds or 0.0)
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.name,
            "gen_ai.tool.call.id": ask,
            "parley.tool.outcome": event.outcome,
        }
        if self._personal and begun is not None:
            attributes["parley.pii.tool_arguments"] = begun.arguments
        error = "" if event.outcome in ("done", "cancelled", "declined") else event.outcome
        name = f"execute_tool {event.name}"
        place = ("tool", ask, len(turn.parts))
        turn.parts.append(self._span(turn, name, place, start, now, attributes, error=error))
        self._extend(now)

    def _close(self) -> list[Span]:
        """Return the spans of the turn that is over."""
        turn, self._turn = self._turn, None
        if turn is None:
            return []
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": self._agent,
            "gen_ai.agent.invocation.end_reason": turn.reason,
            "parley.line": self._line,
            "parley.turn.number": turn.number,
            **turn.attributes,
        }
        root = self._span(
            turn, f"invoke_agent {self._agent}", ("turn", turn.number), turn.start, turn.end,
            attributes, root=True, error=turn.error,
        )  # fmt: skip
        return [root, *self._stages(turn), *turn.parts]

    def _stages(self, turn: _Turn) -> list[Span]:
        if turn.answer is None:
            return []
        over, words, token, sound = turn.answer
        steps: tuple[tuple[str, float, float], ...]
        if turn.own_model:
            steps = (("realtime_inference", over, max(sound, turn.end)),)
        else:
            steps = (
                ("speech_to_text", over, words),
                ("chat", words, token),
                ("text_to_speech", token, sound),
            )
        return [
            self._span(
                turn, name, (name, turn.number), start, end,
                {
                    "gen_ai.operation.name": name,
                    **(turn.used if name in ("chat", "realtime_inference") else {}),
                },
                client=True,
            )
            for name, start, end in steps
        ]  # fmt: skip

    def _span(
        self,
        turn: _Turn,
        name: str,
        place: tuple[object, ...],
        start: float,
        end: float,
        attributes: Mapping[str, Value],
        *,
        root: bool = False,
        client: bool = False,
        error: str = "",
    ) -> Span:
        own = turn.id if root else span_id(self._call, *place)
        parent = "" if root else turn.id
        told = {"gen_ai.conversation.id": self._call, **attributes}
        return Span(name, self._trace, own, parent, start, end, client, told, error)

    def _begin(self, number: int, start: float, end: float) -> _Turn:
        return _Turn(span_id(self._call, "turn", number), number, start, end)

    def _tell(self, name: str, value: Value) -> None:
        if self._turn is not None:
            self._turn.attributes[name] = value

    def _say(self, name: str, text: str) -> None:
        """Tell what was said, where that may be told."""
        if self._personal and text:
            self._tell(f"parley.pii.{name}", text)

    def _extend(self, now: float) -> None:
        if self._turn is not None:
            self._turn.end = max(self._turn.end, now)


def seconds(ts: str) -> float:
    """Return the wall clock of a line's `ts`."""
    return datetime.fromisoformat(ts.replace("Z", "+00:00")).timestamp()
