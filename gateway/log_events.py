"""What the call log says: one class a kind of line, with its fields, their units, what is personal.

The line's `event` is the class's name without `Logged`, in lower case with underscores.
docs/call-log.md and `parley logs --schema` are made from these classes, masking goes by the marks
on their fields, and whoever reads the log gets them back.
A field that is None is not written. Fields may be added, with None as their default, so that older
lines can still be read; none is renamed, and `SCHEMA` counts what readers must know of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gateway.plumbing.wire_json import plain

SCHEMA = 2
"""Version of the vocabulary: 2 is the first that is generated, older logs are read as well."""

Mark = Literal["number", "keys", "words", "tree", "evidence"]
"""How a field is personal: a number or an address, keys that were pressed, what was said or
written, JSON of which any text may be personal, a judgement that quotes what was said."""


def _personal(mark: Mark) -> Meta:
    return Meta(extra={"personal": mark}, extra_json_schema={"x-personal": mark})


def _unit(name: str) -> Meta:
    return Meta(extra={"unit": name}, extra_json_schema={"x-unit": name})


Number = Annotated[str, _personal("number")]
Keys = Annotated[str, _personal("keys")]
Words = Annotated[str, _personal("words")]
Tree = Annotated[Mapping[str, Any], _personal("tree")]
Evidence = Annotated[str, _personal("evidence")]
Seconds = Annotated[float, _unit("seconds")]
Share = Annotated[float, _unit("0 to 1")]
Figures = Mapping[str, Any]

Kind = Literal["greeting", "reply", "filler", "line", "proposal", "goodbye"]


def _event(name: str) -> str:
    """Name the event of a class: `TurnEndedLogged` is `turn_ended`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Logged")).lower()


class _Logged(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag=_event
):
    """A line of the log, without its head."""


class CallStartedLogged(_Logged, frozen=True, kw_only=True):
    """A call was answered; it comes before every other line of the call."""

    line: str
    "`twilio`, `sip`, `webrtc`"
    caller: Number = msgspec.field(name="from")
    callee: Number = msgspec.field(name="to")
    agent: str
    direction: Literal["inbound", "outbound"]
    codec: str
    "as it was negotiated: `pcmu`, `pcma`, `opus`, `g722`"
    page: Tree | None = None
    "that the call came from: its `origin`, and the `metadata` of its token"
    sip_call_id: str | None = None
    "by which the caller's side, and every proxy between, knows the call"
    recording: str | None = None
    """name of the file in `recording.folder`, where the call is recorded; another process that was
    first takes the name, and this one's has `.2` before the ending"""


class CallRefusedLogged(_Logged, frozen=True, kw_only=True):
    """A call was not taken; it has no other lines, and `call` is empty."""

    line: str
    direction: Literal["inbound", "outbound"]
    cause: str
    """why, in one word: `calls` (as many as may be), `late` (sound would come late), `connecting`,
    `ports`, `draining`, `unknown_agent`, `forbidden`, `signature`, `account`, `no_token`,
    `no_route`, `unproven`, `encryption`, `offer`, `media`, `toll`, or what the WebRTC page names as
    `kind`"""
    said: str | None = None
    "the same in more words"
    agent: str | None = None
    "who would have answered"
    caller: Number | None = msgspec.field(name="from", default=None)
    callee: Number | None = msgspec.field(name="to", default=None)
    host: Number | None = None
    "address that asked"
    known_as: str | None = None
    "by which the far side knows the call: Twilio's CallSid, SIP's Call-ID"
    code: int | None = None
    "status that the far side was told"
    count: int | None = None
    "so many more within a second, for which there is no line of their own"


class CallFailedLogged(_Logged, frozen=True, kw_only=True):
    """A call that was placed was not answered; it has no other lines."""

    line: str
    outcome: str
    "`busy`, `no_answer`, `refused`, `not_found`, `cancelled`, `timeout`, `failed`"
    agent: str
    caller: Number | None = msgspec.field(name="from", default=None)
    callee: Number = msgspec.field(name="to")
    code: int | None = None
    "last status of the far side"
    said: str | None = None
    "the far side's words"
    seconds: Seconds | None = None
    "how long it was tried"


class AnsweredByLogged(_Logged, frozen=True, kw_only=True):
    """Who or what answered a call that was placed, as far as can be heard."""

    kind: Literal["person", "machine", "silence", "beep"]
    "`silence`: nobody speaks; `beep`: the machine records now"
    by: Literal["voice", "words", "beep", "silence"] | None = None
    "what it was told by: how long they spoke, what they said, a beep, or that nothing came"
    seconds: Seconds
    "since the answer"


class CallerSpokeLogged(_Logged, frozen=True, kw_only=True):
    """The words of a caller's turn, or what was typed."""

    turn: int | None = None
    text: Words
    wordless: bool | None = None
    "true: the sound that ended as a turn had no words, and was none"


class TurnEndedLogged(_Logged, frozen=True, kw_only=True):
    """The caller was done."""

    turn: int
    why: Literal["semantic", "silence", "words", "keys", "backend"]
    "what decided it; `backend`: a model that owns turns"
    probability: Share | None = None
    "the detector's belief that the caller was done"
    late: bool | None = None
    "the detector's answer did not come in time"
    detector_queue: Seconds | None = None
    "how long its last question waited for its batch; 0: it was not asked"
    detector_seconds: Seconds | None = None
    "how long the detector took for it"
    seconds: Seconds | None = None
    "length of the turn"
    keys: Keys | None = None


class TurnRejoinedLogged(_Logged, frozen=True, kw_only=True):
    """The caller went on before an answer was heard: the turn `before` is part of this one."""

    turn: int
    before: int


class DraftLogged(_Logged, frozen=True, kw_only=True):
    """A reply was begun before the turn was confirmed, or that reply was used or thrown away."""

    outcome: Literal["started", "used", "dropped"]
    reply: int
    probability: Share | None = None
    "where it was started: the belief that the caller was done"
    why: str | None = None
    "where it was dropped"


class Stages(msgspec.Struct, frozen=True):
    """Intervals of one clock that add up to `response`."""

    end_of_turn: Seconds
    "until the turn was known to be over"
    transcript: Seconds
    "until its words were known"
    first_token: Seconds
    "until the model gave its first word"
    first_audio: Seconds
    "until the first sound of the answer was ready"
    line: Seconds
    "until the caller heard it"


class TurnLogged(_Logged, frozen=True, kw_only=True):
    """The caller heard the first sound of the answer to a turn."""

    turn: int
    stages: Stages
    response: Seconds
    "from the caller's last voiced sample to the first sample of the answer at the caller's ear"
    drafted: bool
    "the answer was begun before the turn was confirmed"
    draft_saved: Seconds | None = None
    acknowledged: Seconds | None = None
    "from the same sample to a filler, where one was heard first"
    held: Seconds | None = None
    "for how long nobody was at the caller's end meanwhile; not within `response`"


class AgentSpokeLogged(_Logged, frozen=True, kw_only=True):
    """An utterance of the agent was heard to its end; written then."""

    utterance: int
    kind: Kind
    text: Words
    seconds: Seconds
    "its length"
    turn: int | None = None
    "the caller's turn that it answers or follows; none before the first"


class InterruptedLogged(_Logged, frozen=True, kw_only=True):
    """An utterance was cut into, or was dropped before it was heard."""

    utterance: int
    kind: Kind
    heard: Seconds
    "how much of it the caller heard"
    error: Seconds
    "`heard` is right within this much"
    basis: Literal["acknowledged", "sent", "estimated"]
    "how `heard` is known"
    queued: Seconds
    "how much of its sound there was"
    heard_text: Words
    text: Words
    evidence: Evidence
    "what decided: `words`, `answer` (with what was said), `length`, `key`, `turn`, `hang-up`"
    stop_delay: Seconds | None = None
    "from the caller's first voiced sample until nothing more left here; none where none cut in"
    turn: int | None = None
    "the caller's turn that it answers or follows; none before the first"


class BackchannelLogged(_Logged, frozen=True, kw_only=True):
    """A sound that is known for listening; the agent went on over it, losing nothing."""

    kind: str
    text: Words


class ResumedLogged(_Logged, frozen=True, kw_only=True):
    """Another sound that was no claim to the floor; the agent went on, losing nothing."""

    kind: str
    "`noise`, `echo`, `wordless`; `kept`: the agent was doing something that is not cut into"
    text: Words


class ToolLogged(_Logged, frozen=True, kw_only=True):
    """The model asked for a tool (`outcome` is `asked`), the caller was asked about it and
    answered, or the tool came back."""

    name: str
    outcome: Literal[
        "asked",
        "proposed",
        "agreed",
        "again",
        "declined",
        "lapsed",
        "done",
        "failed",
        "uncertain",
        "timeout",
        "refused",
        "cancelled",
    ]
    """`proposed`: the caller is asked before it is done; `agreed`, `declined`: they said yes or no;
    `again`: they are asked once more; `lapsed`: they said something else; `uncertain`: it may have
    been done; `timeout`: a read was stopped, or a write goes on"""
    ask: str | None = None
    "the request: joins what is told of it"
    arguments: Tree | None = None
    "told when it is asked for, and with the caller's answer"
    question: Words | None = None
    "where it is proposed: what the caller is asked"
    code: str | None = None
    "where it was not done: what the tool called that"
    late: bool | None = None
    "true: of a write, after the model had been told that it goes on"
    effect: str | None = None
    "`read` or `write`; told when it is asked for"
    drafted: bool | None = None
    "asked for before the turn was confirmed"
    seconds: Seconds | None = None
    "how long it ran"
    turn: int | None = None
    "the caller's turn whose answer asked for it"


class DeedLogged(_Logged, frozen=True, kw_only=True):
    """A tool that changes the world began, or is over; that may be after the end of the call."""

    name: str
    key: str
    "its idempotency key: the same for the same deed"
    state: Literal["begun", "over"]
    arguments: Tree | None = None
    "where it begins"
    code: str | None = None
    "where it was not done: what the tool called that"
    outcome: (
        Literal["done", "failed", "uncertain", "timeout", "refused", "cancelled", "unknown"] | None
    ) = None
    "where it is over; `unknown`: nobody could wait for its end any more"


class KeyLogged(_Logged, frozen=True, kw_only=True):
    """The caller pressed a key."""

    keys: Keys


class PageToldLogged(_Logged, frozen=True, kw_only=True):
    """The caller's page told the agent something that the caller did not say."""

    text: Words


class InputDroppedLogged(_Logged, frozen=True, kw_only=True):
    """More than a person can press or type came at once, and was not taken."""

    kind: str
    "`keys`, `texts`"
    count: int


class IdleLogged(_Logged, frozen=True, kw_only=True):
    """Nobody spoke for the agent's `idle_seconds`."""

    asked: int
    "how often in a row; from the second on the call is ended"


class HeldLogged(_Logged, frozen=True, kw_only=True):
    """Nobody is at the caller's end any more; the conversation stands still until they are back."""

    why: Literal["hold", "away"]
    "`hold`: the caller put the call on hold; `away`: the connection to the page broke"


class ReleasedLogged(_Logged, frozen=True, kw_only=True):
    """The caller is back."""

    seconds: Seconds
    "for how long nobody was there"


class BackendLogged(_Logged, frozen=True, kw_only=True):
    """What answers is ready, or was given up for the next of the agent's fallbacks."""

    name: str
    "empty: the agent's first"
    state: Literal["ready", "lost"]
    next: str | None = None
    "where it was lost: what is tried now"


class UsageLogged(_Logged, frozen=True, kw_only=True):
    """What a model counted, in its own words: each figure is a field of the line."""

    figures: Figures = {}
    "written beside the head, not under this name"


class TransferLogged(_Logged, frozen=True, kw_only=True):
    """A transfer was accepted or refused by the far side."""

    accepted: bool
    reason: str


class TransferRefusedLogged(_Logged, frozen=True, kw_only=True):
    """The model wanted the caller put through to somebody whom the agent's file does not allow."""

    target: Number
    reason: str


class FaultLogged(_Logged, frozen=True, kw_only=True):
    """A part failed; the call goes on where it can."""

    part: str
    """`session`, `recogniser`, `model`, `voice`, `voice_activity`, `turn_detector`, `tool`, `line`,
    `recording`, `log`, `gateway`"""
    reason: str
    fatal: bool | None = None
    "nothing more can be had from that part in this call"
    seconds: Seconds | None = None
    "how long it stood, where it stalled"


class RecoveredLogged(_Logged, frozen=True, kw_only=True):
    """A part that failed in this call works again."""

    part: str


class CallEndedLogged(_Logged, frozen=True, kw_only=True):
    """The call is over; its last line but for what still ran."""

    reason: str
    "`process lost`: it was killed, and this is written by the next one"
    ended_by: Literal["caller", "agent", "failure"]
    seconds: Seconds
    turns: int
    quality: Figures | None = None
    "how well the sound came and went, where the line measures it; times in seconds, `mos` 1 to 5"
    open_deeds: list[str] | None = None
    "tools that were changing the world when the process was lost: nobody knows what came of them"


class CallSummaryLogged(_Logged, frozen=True, kw_only=True):
    """A whole call in one flat line, right after its end: a row for a database."""

    began: str
    "RFC 3339, UTC"
    line: str
    direction: str
    agent: str
    caller: Number = msgspec.field(name="from")
    callee: Number = msgspec.field(name="to")
    recording: str | None = None
    ended_by: str
    reason: str
    seconds: Seconds
    turns: int
    response_median: Seconds | None = None
    response_max: Seconds | None = None
    cut_ins: int
    stop_delay_median: Seconds | None = None
    went_on: int
    "sounds over which the agent went on"
    tools: int
    "that were asked for"
    deeds: int
    "writes that were done"
    faults: int
    held: Seconds
    "how long the caller was away"


class LoopStoodLogged(_Logged, frozen=True, kw_only=True):
    """Every call stood still for a moment; of the process, not of a call."""

    kind: Literal["blocked", "interpreter", "stopped"]
    "in code on the loop, in code that kept the interpreter, or since the process was not run"
    seconds: Seconds
    stacks: Figures
    "by thread, `file:line function`, the innermost last"


class LogDroppedLogged(_Logged, frozen=True, kw_only=True):
    """Lines came faster than the disk took them; of the process, not of a call."""

    lines: int


class LogLostLogged(_Logged, frozen=True, kw_only=True):
    """The disk refused lines for so long that they could not be kept; of the process."""

    lines: int


LogEvent = (
    CallStartedLogged
    | CallRefusedLogged
    | CallFailedLogged
    | AnsweredByLogged
    | CallerSpokeLogged
    | TurnEndedLogged
    | DraftLogged
    | TurnLogged
    | AgentSpokeLogged
    | InterruptedLogged
    | TurnRejoinedLogged
    | BackchannelLogged
    | ResumedLogged
    | ToolLogged
    | DeedLogged
    | KeyLogged
    | PageToldLogged
    | InputDroppedLogged
    | IdleLogged
    | HeldLogged
    | ReleasedLogged
    | BackendLogged
    | UsageLogged
    | TransferLogged
    | TransferRefusedLogged
    | FaultLogged
    | RecoveredLogged
    | CallEndedLogged
    | CallSummaryLogged
    | LoopStoodLogged
    | LogDroppedLogged
    | LogLostLogged
)
"""Every kind of line, in the order in which the page tells them."""


def name_of(event: LogEvent) -> str:
    """Return the `event` of a line."""
    return str(type(event).__struct_config__.tag)


def fields_of(event: LogEvent) -> dict[str, Any]:
    """Return the fields of a line by their names on the wire, without the head."""
    if isinstance(event, UsageLogged):
        return dict(event.figures)
    fields: dict[str, Any] = msgspec.to_builtins(event, enc_hook=plain, str_keys=True)
    del fields["event"]
    return fields
