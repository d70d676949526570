"""A conversation as a ladder: what happened on the left, what must follow on the right."""

from __future__ import annotations

from typing import TypeVar

from gateway.call.conversation.machine import Conversation
from gateway.call.conversation.vocabulary import Effect, Event
from gateway.call.settings import ConversationSettings
from gateway.events import (
    AgentAudio,
    AgentBeganSounding,
    AgentHeard,
    CallerClaimed,
    CallerTurnEnded,
    CallerWords,
    CallInfo,
    CallStarted,
    Flush,
    Heard,
    Play,
    PlayoutDry,
    PlayoutFlushed,
    Record,
    ReplyEnded,
    ReplyText,
    Respond,
    Speak,
    UtteranceEnded,
    Word,
)
from gateway.log_events import fields_of, name_of
from gateway.ports import BackendTraits, ToolSpec
from turn.events import FloorClaimed, SpeechStarted, TurnEnded

RATE = 8000
Kind = TypeVar("Kind", bound=Effect)

LOOKUP = ToolSpec("lookup", "Look something up.", {"type": "object"}, effect="read")
BOOK = ToolSpec(
    "book", "Book.", {"type": "object"}, effect="write", confirm=True, say="Shall I book {at}?"
)


class Playbook:
    """Drives a conversation with a clock of its own and remembers every effect."""

    def __init__(
        self,
        settings: ConversationSettings | None = None,
        traits: BackendTraits | None = None,
        info: CallInfo | None = None,
    ) -> None:
        self.now = 100.0
        self.effects: list[Effect] = []
        self.machine = Conversation(
            info or CallInfo("c1", "twilio", "test", rate=RATE),
            settings or ConversationSettings(tools=(LOOKUP, BOOK)),
            traits or BackendTraits(),
        )

    def happens(self, event: Event, after: float = 0.0) -> list[Effect]:
        """Pass `after` seconds, then let the event happen; give what followed it."""
        self.now += after
        effects = self.machine.handle(event, self.now)
        self.effects += effects
        return effects

    def start(self) -> Speak:
        """Begin the call; give the greeting."""
        effects = self.happens(CallStarted())
        (greeting,) = only(effects, Speak)
        return greeting

    def hear_line(self, line: Speak, seconds: float = 1.0) -> None:
        """Let a fixed line be rendered, sent and heard to its end."""
        pcm = bytes(int(seconds * RATE) * 2)
        words = (Word(line.text, 0.0, seconds),)
        self.happens(AgentAudio(0, line.utterance, pcm, words))
        self.happens(UtteranceEnded(0, line.utterance))
        self.happens(AgentBeganSounding(line.utterance, self.now))
        self.happens(AgentHeard(heard(line.utterance, seconds, seconds)), seconds)
        self.happens(PlayoutDry())

    def turn(self, text: str, seconds: float = 1.0) -> Respond:
        """Let the caller speak and be done; give the respond that follows, its words known."""
        self.happens(SpeechStarted(0, 0))
        ended = TurnEnded(int(seconds * RATE), 0, int(seconds * RATE), "semantic", 0.9)
        effects = self.happens(CallerTurnEnded(ended, self.now + seconds), seconds + 0.3)
        (respond,) = only(effects, Respond)
        self.happens(CallerWords(respond.turn, text, final=True), 0.1)
        return respond

    def reply(self, respond: Respond, text: str, seconds: float = 1.0) -> int:
        """Let the backend say `text` in `seconds` of sound; give the utterance."""
        self.happens(ReplyText(respond.reply, respond.utterance, text), 0.1)
        self.sound(respond, text, seconds)
        self.happens(UtteranceEnded(respond.reply, respond.utterance, text))
        self.happens(ReplyEnded(respond.reply))
        return respond.utterance

    def sound(self, respond: Respond, text: str, seconds: float) -> list[Effect]:
        """Let the backend's sound arrive, with evenly spread words."""
        spoken = text.split()
        step = seconds / max(1, len(spoken))
        words = tuple(Word(w, i * step, (i + 1) * step) for i, w in enumerate(spoken))
        pcm = bytes(int(seconds * RATE) * 2)
        return self.happens(AgentAudio(respond.reply, respond.utterance, pcm, words), 0.05)

    def heard_all(self, utterance: int, seconds: float = 1.0) -> None:
        """Let an utterance be heard to its end."""
        self.now += 0.02
        self.happens(AgentBeganSounding(utterance, self.now))
        self.happens(AgentHeard(heard(utterance, seconds, seconds)), seconds)
        self.happens(PlayoutDry())

    def cut_in(self, utterance: int, queued: float, after: float) -> list[Effect]:
        """Let the caller take the floor when `after` seconds of an utterance were heard."""
        claimed = FloorClaimed(0, 0, "words: stop")
        effects = self.happens(CallerClaimed(claimed, self.now - 0.3))
        assert only(effects, Flush)
        position = heard(utterance, queued, after)
        return effects + self.happens(PlayoutFlushed((position,)))


def heard(utterance: int, queued: float, heard_: float) -> Heard:
    """Make a ledger position out of seconds."""
    q, h = int(queued * RATE), int(heard_ * RATE)
    return Heard(utterance, q, h, 80, "acknowledged")


def only(effects: list[Effect], kind: type[Kind]) -> list[Kind]:
    """Pick the effects of one kind."""
    return [effect for effect in effects if isinstance(effect, kind)]


def records(effects: list[Effect], event: str) -> list[dict[str, object]]:
    """Pick the log lines of one event."""
    return [fields_of(r.event) for r in only(effects, Record) if name_of(r.event) == event]


def plays(effects: list[Effect]) -> list[int]:
    """Name the utterances that were queued for the caller."""
    return [play.utterance for play in only(effects, Play)]


def rungs(effects: list[Effect]) -> list[str]:
    """Name all that was done, in order: lines of the log by their events, the rest by its class."""
    return [
        f"log {name_of(effect.event)}" if isinstance(effect, Record) else type(effect).__name__
        for effect in effects
    ]
