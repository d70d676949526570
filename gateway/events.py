"""What happens in a call (past tense) and what is done about it (imperative).

The conversation machine is told events and returns effects; nothing else passes between rooms.
`turn` numbers the caller's turns, `reply` the agent's answers, `utterance` each piece of agent
speech; all count up from 1 within a call and are never used twice.
Positions are samples at the line's rate; `now` is passed beside the event, in loop seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gateway.log_events import LogEvent
from media.playout_vocabulary import Holder
from turn.events import FloorClaimed, TurnEnded

Json = Mapping[str, Any]
"""A parsed JSON object; the one place where Any is allowed past a parser."""


Outcome = Literal["done", "failed", "uncertain", "timeout", "refused", "cancelled"]
"""What came of a tool. `failed`: nothing happened, and the tool says why; `uncertain`: a write may
have happened; `timeout`: a read was stopped, or a write goes on; `refused`: it was never begun."""


@dataclass(frozen=True, slots=True)
class CallInfo:
    """Who calls whom, over what."""

    call_id: str
    line: str
    "`twilio`, `sip`, `webrtc`"
    agent: str
    caller: str = ""
    "the caller's number or address: personal data"
    callee: str = ""
    rate: int = 8000
    "samples per second in both directions"
    codec: str = "pcmu"
    "wire form of the line: `pcmu`, `pcma`, `l16`"
    negotiated: str = ""
    "codec between the line and the caller's end, where it is another: `opus`, `g722`"
    direction: Literal["inbound", "outbound"] = "inbound"
    screened: bool = False
    "it was placed, and its line tells of an answering machine's beep"
    variables: Json = field(default_factory=dict)
    "line headers, stream parameters, widget metadata"
    page: Json = field(default_factory=dict)
    "what is known of the page that the call came from: `origin`, `metadata`"


@dataclass(frozen=True, slots=True)
class Word:
    """One word of an utterance, and when it sounds within it."""

    text: str
    start: float
    "seconds from the utterance's first sample"
    end: float
    glued: bool = False
    "written without a space before it: a digit of a number that is said digit by digit"


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of one utterance's way to the caller's ear, in samples."""

    utterance: int
    queued: int
    "handed to playout, in all"
    heard: int
    "reached the caller's ear"
    error: int
    "the heard figure is right within this many samples"
    basis: Literal["acknowledged", "sent", "estimated"]


# --- events from the line ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The leg is up; sound may flow."""

    recording: str | None = None
    "name of the file that holds it, where it is recorded"


@dataclass(frozen=True, slots=True)
class CallerKey:
    """A key was pressed."""

    key: str


@dataclass(frozen=True, slots=True)
class CallerTyped:
    """The caller wrote instead of speaking (widget)."""

    text: str


@dataclass(frozen=True, slots=True)
class PageTold:
    """The caller's page says something that the caller did not (widget)."""

    text: str


@dataclass(frozen=True, slots=True)
class CallerAnswered:
    """The caller answered a proposal by its button (widget)."""

    proposal: str
    yes: bool


@dataclass(frozen=True, slots=True)
class CallerGone:
    """The leg is down."""

    reason: str
    failure: bool = False
    quality: Json = field(default_factory=dict)
    "how well the sound came and went, where the line measures it"


@dataclass(frozen=True, slots=True)
class BeepHeard:
    """A tone as answering machines give it before they record is over."""


@dataclass(frozen=True, slots=True)
class CallHeld:
    """Nobody is at the caller's end for now: what is sent there is heard by nobody."""

    why: Literal["hold", "away"]
    "`hold`: the caller put us on hold; `away`: the connection to the page broke"
    since: float
    "loop seconds from which on nobody listened"


@dataclass(frozen=True, slots=True)
class CallReleased:
    """The caller is back."""


@dataclass(frozen=True, slots=True)
class TransferEnded:
    """A transfer was accepted or refused by the far side."""

    accepted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EndAsked:
    """The operator's side ends this call: say the line, then hang up."""

    line: str
    reason: str


@dataclass(frozen=True, slots=True)
class TransferAsked:
    """The operator's side puts the caller through, to whom the agent may."""

    target: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The deadline the machine asked for has come."""


# --- events from turn-taking, with their place on the loop's clock -------------------------


@dataclass(frozen=True, slots=True)
class CallerTurnEnded:
    """The caller is done."""

    ended: TurnEnded
    speech_end: float
    "loop seconds at which the caller's last voiced sample arrived"


@dataclass(frozen=True, slots=True)
class CallerClaimed:
    """The caller took the floor while the agent was sounding."""

    claimed: FloorClaimed
    onset: float
    "loop seconds at which the caller's first voiced sample arrived"


# --- events from playout -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentBeganSounding:
    """The caller hears the first sample of an utterance."""

    utterance: int
    when: float
    "loop seconds at which that sample is heard"


@dataclass(frozen=True, slots=True)
class AgentHeard:
    """An utterance was heard to its end."""

    heard: Heard


@dataclass(frozen=True, slots=True)
class PlayoutDry:
    """Nothing waits, everything sent was heard."""


@dataclass(frozen=True, slots=True)
class PlayoutFlushed:
    """What waited was dropped; this is what is known of each unfinished utterance."""

    heard: tuple[Heard, ...]
    why: str = "turn"
    "what ended it, where it was no claim: a turn of the caller's, or `hang-up`"


@dataclass(frozen=True, slots=True)
class PlayoutStalled:
    """There is sound to send and none leaves."""

    seconds: float


@dataclass(frozen=True, slots=True)
class PlayoutStarved:
    """An utterance is unfinished, and for so long there has been nothing of it to send."""

    seconds: float


# --- events from the backend ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallerWords:
    """The words of a caller's turn."""

    turn: int
    text: str
    final: bool


@dataclass(frozen=True, slots=True)
class ReplyText:
    """The model's next tokens of a reply."""

    reply: int
    utterance: int
    text: str


@dataclass(frozen=True, slots=True)
class AgentAudio:
    """Sound of an utterance, at the line's rate; comes in order."""

    reply: int
    utterance: int
    pcm: bytes
    "signed 16-bit little-endian at the line's rate; empty when `payload` is given"
    words: tuple[Word, ...] = ()
    "the words in this piece, times from the utterance's first sample"
    payload: bytes = b""
    "the same in the line's wire form, for passing through"


@dataclass(frozen=True, slots=True)
class UtteranceEnded:
    """All sound of an utterance has been given."""

    reply: int
    utterance: int
    text: str = ""
    "all of its text, where known"


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """The model has nothing more to say in this reply; says nothing about what was heard."""

    reply: int


@dataclass(frozen=True, slots=True)
class ReplyExpects:
    """The model knows what it asks the caller for: evidence for turn-taking."""

    reply: int
    expects: str
    "`yes_no`, `name`, `digits`, `spelling`, `open`"
    profile: str = ""


@dataclass(frozen=True, slots=True)
class ToolAsked:
    """The model wants a tool run."""

    reply: int
    ask: str
    "the model's id of this request"
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """A tool came back, or failed, or ran out of time."""

    ask: str
    result: Json
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class BackendReady:
    """The backend can be talked to."""

    name: str


@dataclass(frozen=True, slots=True)
class BackendLost:
    """The backend (or a part of it) failed; `part` says which."""

    reason: str
    part: Literal["recogniser", "model", "voice", "session"] = "session"
    reply: int | None = None
    "the reply that died with it"
    fatal: bool = True
    "nothing more can be had from this backend"


@dataclass(frozen=True, slots=True)
class BackendTurn:
    """A model that owns turn-taking says what it decided."""

    kind: Literal["speech_started", "speech_stopped", "ended", "interrupted"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What a model counted."""

    figures: Json


# --- effects ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listen:
    """The caller's sound from `start` on is probably speech for the agent."""

    start: int


@dataclass(frozen=True, slots=True)
class Disregard:
    """What was listened to since the last turn was nothing: a cough, an acknowledgement, echo."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Begin a reply that may be thrown away; nothing of it may be heard or take effect."""

    turn: int
    reply: int
    start: int
    end: int
    history: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class DropDraft:
    """Throw a drafted reply away without trace."""

    reply: int


@dataclass(frozen=True, slots=True)
class Respond:
    """The turn is confirmed: answer it. `reply` may already be drafted."""

    turn: int
    reply: int
    utterance: int
    "id for the reply's first utterance; further ones come from `NextUtterance` numbering"
    start: int
    end: int
    history: tuple[Entry, ...] = ()
    text: str = ""
    "what the caller typed or keyed, when it was not spoken"
    again: bool = False
    "the history already ends with what is to be answered; there is no new sound"


@dataclass(frozen=True, slots=True)
class CancelReply:
    """Stop generating; late output of this reply is void."""

    reply: int


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tell the model how much of an utterance was heard."""

    utterance: int
    heard_seconds: float
    heard_text: str


@dataclass(frozen=True, slots=True)
class AnswerTool:
    """Give a tool's result to the model; `proceed` asks it to go on speaking."""

    reply: int
    ask: str
    name: str
    result: Json
    proceed: bool = True
    utterance: int = 0
    "id for the utterance that follows"
    history: tuple[Entry, ...] = ()
    ends: bool = False
    "the call is about to end: nothing more is said in this reply"


@dataclass(frozen=True, slots=True)
class Inform:
    """Tell the model something that nobody said (a key, what was not heard, a stale result)."""

    text: str


BackendCommand = (
    Listen | Disregard | Draft | DropDraft | Respond | CancelReply | Truncate | AnswerTool | Inform
)


@dataclass(frozen=True, slots=True)
class Speak:
    """Say a fixed line with the configured voice, rendered ahead where possible."""

    utterance: int
    text: str


@dataclass(frozen=True, slots=True)
class Play:
    """Queue sound of an utterance for the caller."""

    utterance: int
    pcm: bytes
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class EndUtterance:
    """All sound of an utterance is queued."""

    utterance: int


@dataclass(frozen=True, slots=True)
class Duck:
    """Lower the agent's voice."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing for now, keep everything."""

    holder: Holder = "caller"
    since: float = 0.0
    "for a line: loop seconds from which on nobody listened; what was to be heard since comes back"


@dataclass(frozen=True, slots=True)
class Resume:
    """Play on from the first sample the caller did not hear, unless somebody else holds."""

    holder: Holder = "caller"


@dataclass(frozen=True, slots=True)
class Flush:
    """Drop what waits, clear the far side; answered at once by what was heard."""


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a tool in the background; its answer comes back as `ToolAnswered`."""

    ask: str
    name: str
    arguments: Json
    key: str
    "idempotency key"
    timeout: float


@dataclass(frozen=True, slots=True)
class CancelTool:
    """Stop a running read; a write is never cancelled."""

    ask: str


@dataclass(frozen=True, slots=True)
class ChooseProfile:
    """Switch the patience of turn-taking."""

    name: str
    expects: str = ""


@dataclass(frozen=True, slots=True)
class KeepFloor:
    """Let the caller not cut in while a write runs; or again, now that it is done."""

    kept: bool


@dataclass(frozen=True, slots=True)
class SendKeys:
    """Press keys towards the far side."""

    keys: str


@dataclass(frozen=True, slots=True)
class Transfer:
    """Put the caller through to someone else."""

    target: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class HangUp:
    """End the call now; the ledger has been waited for."""

    reason: str


@dataclass(frozen=True, slots=True)
class SwitchBackend:
    """Close the present backend and open the one of this name."""

    name: str
    start: int | None = None
    "from where on it is given the caller's sound that it missed; None: it missed nothing"


@dataclass(frozen=True, slots=True)
class Record:
    """Write one line to the call log."""

    event: LogEvent


# --- history ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of the conversation as it truly went; written when sound was heard."""

    role: Literal["caller", "agent", "tool_ask", "tool_result", "note"]
    text: str = ""
    ask: str = ""
    "id that joins a tool request and its result"
    name: str = ""
    "of the tool"
    data: Json = field(default_factory=dict)
    "arguments, or result"
    interrupted: bool = False
    "the agent meant to say more than was heard"
