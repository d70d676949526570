"""A call as its page shows it: who spoke when, what was heard of it, and what went on beside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gateway.log_events import (
    AgentSpokeLogged,
    AnsweredByLogged,
    BackchannelLogged,
    BackendLogged,
    CallEndedLogged,
    CallerSpokeLogged,
    CallStartedLogged,
    DraftLogged,
    FaultLogged,
    HeldLogged,
    IdleLogged,
    InputDroppedLogged,
    InterruptedLogged,
    KeyLogged,
    LogEvent,
    RecoveredLogged,
    ReleasedLogged,
    ResumedLogged,
    ToolLogged,
    TransferLogged,
    TransferRefusedLogged,
    TurnEndedLogged,
    TurnLogged,
    TurnRejoinedLogged,
)
from gateway.observe.lines import LogLine


@dataclass(slots=True)
class Turn:
    """A turn of the caller, and what they waited for afterwards."""

    turn: int
    start: float
    "seconds since the call was answered"
    end: float
    "of its last voiced sample, once that is known"
    text: str = ""
    why: str = ""
    probability: float | None = None
    wordless: bool = False
    rejoined: bool = False
    "is part of the turn after it"
    stages: dict[str, float] | None = None
    response: float | None = None
    drafted: bool = False
    draft_saved: float | None = None
    acknowledged: float | None = None
    held: float | None = None


@dataclass(slots=True)
class Utterance:
    """Something that the agent said, or was going to."""

    utterance: int
    kind: str
    start: float
    end: float
    text: str
    heard_text: str | None = None
    "None: all of it was heard"
    heard: float | None = None
    queued: float | None = None
    error: float | None = None
    basis: str = ""
    evidence: str = ""
    stop_delay: float | None = None
    "of who was cut into"
    turn: int | None = None


@dataclass(slots=True)
class ToolUse:
    """A tool, from being asked for to what came of it."""

    name: str
    start: float
    end: float | None = None
    outcome: str = "asked"
    effect: str = ""
    arguments: Any = None
    question: str = ""
    code: str = ""
    drafted: bool = False
    seconds: float | None = None
    turn: int | None = None
    steps: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Note:
    """Anything else that happened."""

    at: float
    kind: str
    "its event"
    text: str
    bad: bool = False


@dataclass(slots=True)
class Hold:
    """Nobody was at the caller's end."""

    start: float
    end: float | None
    why: str


@dataclass(slots=True)
class Story:
    """One call."""

    call: str
    began: str = ""
    "RFC 3339"
    started: CallStartedLogged | None = None
    ended: CallEndedLogged | None = None
    seconds: float = 0.0
    "so far, or in all"
    turns: list[Turn] = field(default_factory=list)
    utterances: list[Utterance] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)


def tell(call: str, lines: Iterable[LogLine]) -> Story:
    """Make a call's story of its lines, in the order in which they were written."""
    story = Story(call)
    asked: dict[str, ToolUse] = {}
    for line in lines:
        story.seconds = story.seconds if story.ended else max(story.seconds, line.at)
        match line.told:
            case CallStartedLogged() as started:
                story.began, story.started = line.ts, started
            case CallEndedLogged() as ended:
                story.ended, story.seconds = ended, ended.seconds
            case TurnEndedLogged() | CallerSpokeLogged() | TurnLogged() | TurnRejoinedLogged():
                _caller(story, line.at, line.told)
            case AgentSpokeLogged() | InterruptedLogged():
                _agent(story, line.at, line.told)
            case ToolLogged():
                _tool(story, asked, line.at, line.told)
            case HeldLogged(why=why):
                story.holds.append(Hold(line.at, None, why))
            case ReleasedLogged() if story.holds:
                story.holds[-1].end = line.at
            case None:
                pass
            case event:
                if (note := _note(line.at, event)) is not None:
                    story.notes.append(note)
    story.turns.sort(key=lambda each: each.start)
    story.utterances.sort(key=lambda each: (each.start, each.utterance))
    return story


def _turn(story: Story, number: int | None, at: float) -> Turn:
    for each in reversed(story.turns):
        if number is not None and each.turn == number:
            return each
    story.turns.append(Turn(number or 0, at, at))
    return story.turns[-1]


def _caller(
    story: Story,
    at: float,
    event: TurnEndedLogged | CallerSpokeLogged | TurnLogged | TurnRejoinedLogged,
) -> None:
    match event:
        case TurnEndedLogged():
            turn = _turn(story, event.turn, at)
            turn.start, turn.end = max(0.0, at - (event.seconds or 0.0)), at
            turn.why, turn.probability = event.why, event.probability
        case CallerSpokeLogged():
            turn = _turn(story, event.turn, at)
            turn.text = " ".join(filter(None, (turn.text, event.text)))
            turn.wordless = bool(event.wordless)
        case TurnLogged():
            turn = _turn(story, event.turn, at)
            # Its end as its caller knows it: the response counts from the last voiced sample.
            end = max(0.0, at - event.response)
            turn.start, turn.end = turn.start - max(0.0, turn.end - end), end
            turn.start = max(0.0, turn.start)
            turn.stages = msgspec.structs.asdict(event.stages)
            turn.response, turn.drafted = event.response, event.drafted
            turn.draft_saved, turn.acknowledged = event.draft_saved, event.acknowledged
            turn.held = event.held
        case TurnRejoinedLogged(before=before):
            _turn(story, before, at).rejoined = True


def _agent(story: Story, at: float, event: AgentSpokeLogged | InterruptedLogged) -> None:
    said = Utterance(event.utterance, event.kind, at, at, event.text, turn=event.turn)
    match event:
        case AgentSpokeLogged(seconds=seconds):
            said.start = max(0.0, at - seconds)
        case InterruptedLogged():
            said.start = max(0.0, at - event.heard)
            said.heard_text, said.heard, said.queued = event.heard_text, event.heard, event.queued
            said.error, said.basis = event.error, event.basis
            said.evidence, said.stop_delay = event.evidence, event.stop_delay
    story.utterances.append(said)


def _tool(story: Story, asked: dict[str, ToolUse], at: float, event: ToolLogged) -> None:
    tool = asked.get(event.ask or "")
    if tool is None:
        tool = ToolUse(event.name, at, turn=event.turn)
        story.tools.append(tool)
        if event.ask:
            asked[event.ask] = tool
    tool.outcome, tool.end = event.outcome, None if event.outcome == "asked" else at
    tool.steps.append(event.outcome)
    tool.effect, tool.drafted = event.effect or tool.effect, bool(event.drafted) or tool.drafted
    tool.arguments = event.arguments if event.arguments is not None else tool.arguments
    tool.question, tool.code = event.question or tool.question, event.code or tool.code
    tool.seconds = event.seconds if event.seconds is not None else tool.seconds


def _note(at: float, event: LogEvent) -> Note | None:
    match event:
        case BackchannelLogged(kind=kind, text=text):
            return Note(at, "backchannel", text or kind)
        case ResumedLogged(kind=kind, text=text):
            return Note(at, "resumed", f"{kind}: {text}" if text else kind)
        case DraftLogged(outcome=outcome, why=why):
            return Note(at, "draft", f"{outcome}: {why}" if why else outcome)
        case KeyLogged(keys=keys):
            return Note(at, "key", keys)
        case InputDroppedLogged(kind=kind, count=count):
            return Note(at, "input_dropped", f"{count} {kind} came at once")
        case IdleLogged(asked=asked):
            return Note(at, "idle", f"nobody spoke; asked {asked} times")
        case BackendLogged(name=name, state=state, next=following):
            text = f"{name or 'the first backend'} is {state}"
            return Note(at, "backend", f"{text}, now {following}" if following else text,
                        bad=state == "lost")  # fmt: skip
        case TransferLogged(accepted=accepted, reason=reason):
            said = "accepted" if accepted else "refused"
            return Note(at, "transfer", f"{said}: {reason}" if reason else said, bad=not accepted)
        case TransferRefusedLogged(target=target, reason=reason):
            return Note(at, "transfer", f"not to {target}: {reason}", bad=True)
        case FaultLogged(part=part, reason=reason):
            return Note(at, "fault", f"{part}: {reason}", bad=True)
        case RecoveredLogged(part=part):
            return Note(at, "recovered", f"{part} works again")
        case AnsweredByLogged(kind=kind):
            return Note(at, "answered_by", f"answered by a {kind}")
        case _:
            return None
