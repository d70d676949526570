"""The one state of a conversation, which its two sides (caller and agent) read and change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gateway.call.conversation.history import History
from gateway.call.conversation.replies import Replies, Reply
from gateway.call.conversation.speech import Speech, UtteranceKind
from gateway.call.conversation.stages import TurnClock
from gateway.call.conversation.vocabulary import Effect, Effects
from gateway.call.conversation.waits import Wait, Waits
from gateway.call.settings import ConversationSettings
from gateway.call.tools.desk import ToolDesk
from gateway.events import (
    BackendTurn,
    CallerClaimed,
    CallerTurnEnded,
    CallInfo,
    Outcome,
    Speak,
    Transfer,
)
from gateway.ports import BackendTraits

Part = Literal["recogniser", "model", "voice", "session"]


@dataclass(frozen=True, slots=True)
class Loss:
    """A failure of the backend that is yet to be answered."""

    fatal: bool
    owed: Reply | None
    "the answer that died with it"
    torn: bool
    "it died in the middle of an utterance"
    part: Part = "session"
    bridged_at: float | None = None
    "when the caller was to be told that it takes a while"


@dataclass(slots=True)
class Holds:
    """Whether somebody is at the caller's end, and when nobody was."""

    since: float | None = None
    "loop seconds from which on nobody is; None: the caller is there"
    fell: bool = False
    "meanwhile the agent had nothing more to say; what follows on that waits for the caller"
    past: tuple[float, float] | None = None
    "the last hold that is over: from when to when"

    def moved(self, moment: float) -> tuple[float, float]:
        """Leave the last hold out of what counts from a moment: give it later, and by how much."""
        if self.past is None or moment >= self.past[1]:
            return moment, 0.0
        since, until = self.past
        held = until - max(since, moment)
        return moment + held, held


@dataclass(slots=True)
class Screening:
    """Who answered a call that was placed; written by `screening`."""

    stage: Literal["off", "asking", "person", "machine", "leaving"] = "off"
    """`asking`: nobody knows yet, and nothing is said; `person`: seemingly, and a machine's words
    or beep still tell otherwise; `machine`: its greeting is being heard out; `leaving`: it records
    our message"""
    began: float | None = None
    "loop seconds at which they began to speak, without a pause since that is somebody waiting"
    turn: CallerTurnEnded | BackendTurn | None = None
    "what they said, which is answered once it is known that somebody waits"
    greeted: float = 0.0
    "loop seconds at which the greeting answered what they had said by then"
    turns: int = 0
    "how many turns of theirs it takes until they are somebody who answers us"
    limit: float = 0.0
    "loop seconds after which a greeting is heard out no longer"
    beeped: bool = False
    "the message began at a beep"

    @property
    def quiet(self) -> bool:
        """Whether nothing is said for now but what is left for a machine."""
        return self.stage in ("asking", "machine", "leaving")


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn that was found to be over."""

    turn: int
    reply: int
    start: int
    at: float
    "loop seconds"


@dataclass(slots=True)
class News:
    """What came of a write, until the caller is told."""

    run: str
    outcome: Outcome
    tried: bool = False
    "the model was asked to tell it"


@dataclass(slots=True)
class CallerFloor:
    """What the caller does with the floor; written by `caller_side`, `sounds` and `rejoin`."""

    speaking: bool = False
    voice_ended: float | None = None
    "where the model owns turns: when the caller's voice stopped, by our own ear; None: it goes on"
    listening: bool = False
    "the backend was told where the present turn of the caller began"
    listening_from: int = 0
    "where that is, in samples of the caller's stream"
    dismissed: tuple[int, int] | None = None
    "what was found to be nothing last: from where, and where that was known"
    claim: CallerClaimed | None = None
    "why playout is being flushed"
    ended: Ended | None = None
    "the last turn's end"
    rejoins: Ended | None = None
    "the same where the caller has gone on since, so that it was none"
    idle_due: float | None = None
    "when the caller was to be asked whether they are there, before they made their last sound"
    idle_asked: int = 0


@dataclass(slots=True)
class Failures:
    """How far the chain of fallbacks was walked; written by `recovery`."""

    backend: str = ""
    "name of the backend that serves; empty: the agent's first"
    count: int = 0
    "failures of the backend since it last gave sound"
    steps: int = 0
    "how many of the fallbacks are used up"
    loss: Loss | None = None
    "it is answered as soon as it is known what was heard"
    deserted: bool = False
    "no backend serves any more: the caller is being put through to somebody"


@dataclass(slots=True)
class Consent:
    """What the caller was asked and is to be told; written by `consent_side` and `tool_side`."""

    proposed: str = ""
    "the proposal whose read-back was the last thing the caller heard, to its end"
    agreed: TurnClock | None = None
    "of the turn in which the caller said yes, until they hear what came of it"
    news: list[News] = field(default_factory=list)
    "outcomes that the caller was not told of yet"


@dataclass(slots=True)
class Ending:
    """How far the call has come to its end; written by `CallState` and `course`."""

    started: float = 0.0
    "loop seconds"
    phase: Literal["open", "ending", "ended"] = "open"
    transferring: bool = False
    "a transfer was asked for, and its outcome is not known"
    last: Effect | None = None
    "what is done once the last word was heard: HangUp or Transfer"


@dataclass(slots=True)
class CallState:
    """Everything a conversation knows, by its owners; the `Conversation`'s alone."""

    info: CallInfo
    settings: ConversationSettings
    traits: BackendTraits
    tools: ToolDesk
    history: History
    waits: Waits
    speech: Speech = field(default_factory=Speech)
    replies: Replies = field(default_factory=Replies)
    hold: Holds = field(default_factory=Holds)
    caller: CallerFloor = field(default_factory=CallerFloor)
    screening: Screening = field(default_factory=Screening)
    failures: Failures = field(default_factory=Failures)
    consent: Consent = field(default_factory=Consent)
    end: Ending = field(default_factory=Ending)

    def seconds(self, samples: int) -> float:
        """Return how long so many samples of this call last."""
        return samples / self.info.rate

    def await_caller(self, now: float, due: float | None = None) -> None:
        """Give the floor to the caller, and wait for them to speak; `due`: no longer than that.

        Nobody waits for a machine, nor for who has not been told that we are there.
        """
        if self.end.phase != "open" or self.screening.quiet:
            return
        if due is None:
            self.waits.begin(Wait.IDLE, now)
        else:
            self.waits.until(Wait.IDLE, max(due, now))

    def speak(self, text: str, kind: UtteranceKind = "line", proposal: str = "") -> Effects:
        """Say a fixed line; nobody who is on hold is kept waiting by us."""
        if not text or (kind == "filler" and self.hold.since is not None):
            return []
        self.hold.fell = False
        utterance = self.speech.begin(self.speech.new_id(), kind, self.replies.turn)
        utterance.text = text
        utterance.interruptible = kind not in self.settings.lines.hear_out
        utterance.proposal = proposal
        if kind != "filler":
            self.history.agent(utterance.id, text)
        return [Speak(utterance.id, text)]

    def finish_with(self, effect: Effect, now: float) -> None:
        """Do `effect` once everything said so far was heard, or the wait for that is over."""
        end = self.end
        if end.phase == "ending" and end.last is None:
            return  # it was done, and is done once
        end.phase, end.last = "ending", effect
        end.transferring = isinstance(effect, Transfer)
        self.waits.stop(Wait.IDLE, Wait.REPLY)
        self.waits.begin(Wait.ENDING, now)

    def leave(self) -> Effects:
        """Do what the call ends with, once."""
        last, self.end.last = self.end.last, None
        self.waits.stop(Wait.ENDING)
        return [] if last is None else [last]
