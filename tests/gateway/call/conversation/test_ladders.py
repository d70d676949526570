"""Conversations rung by rung: each event has everything that follows it, and nothing else."""

from __future__ import annotations

from gateway.call.conversation.vocabulary import Event
from gateway.call.settings import ConversationSettings
from gateway.events import (
    AgentAudio,
    AgentBeganSounding,
    AgentHeard,
    BackendLost,
    CallerClaimed,
    CallerGone,
    CallerTurnEnded,
    CallerWords,
    CallHeld,
    CallReleased,
    CallStarted,
    EndAsked,
    PlayoutDry,
    PlayoutFlushed,
    ReplyEnded,
    ReplyText,
    TimePassed,
    ToolAnswered,
    ToolAsked,
    UtteranceEnded,
)
from tests.support.playbook import LOOKUP, RATE, Playbook, heard, rungs
from turn.events import (
    FloorClaimed,
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnDropped,
    TurnEnded,
    TurnResumed,
)

SECOND = bytes(2 * RATE)


class Ladder:
    """A conversation of which each step is compared whole."""

    def __init__(self, settings: ConversationSettings | None = None) -> None:
        self.book = Playbook(settings or ConversationSettings(tools=(LOOKUP,)))

    def step(self, event: Event, *follows: str, after: float = 0.1) -> None:
        """Let an event happen, which this follows and nothing else."""
        assert rungs(self.book.happens(event, after)) == list(follows), event

    # --- steps that come in every conversation

    def greeted(self) -> None:
        self.step(CallStarted(), "log call_started", "Speak")
        self.sounds(0, 1)
        self.heard(1)

    def sounds(self, reply: int, utterance: int) -> None:
        self.step(AgentAudio(reply, utterance, SECOND, ()), "Play")
        self.step(UtteranceEnded(reply, utterance), "EndUtterance")

    def heard(self, utterance: int) -> None:
        self.step(AgentHeard(heard(utterance, 1.0, 1.0)), "log agent_spoke", after=1.0)
        self.step(PlayoutDry())

    def asked(self, turn: int = 1) -> None:
        """A turn of the caller's, without a draft."""
        self.step(SpeechStarted(0, 0), "Listen")
        self.step(SpeechStopped(RATE, RATE), after=1.0)
        self.step(self.ended(), "Resume", "log turn_ended", "Respond")
        self.step(CallerWords(turn, "When do you open?", final=True), "log caller_spoke")

    def ended(self) -> CallerTurnEnded:
        return CallerTurnEnded(TurnEnded(RATE, 0, RATE, "semantic", 0.95), self.book.now)


def test_a_question_and_its_answer() -> None:
    it = Ladder()
    it.greeted()
    it.asked()
    it.step(ReplyText(1, 2, "At nine."))
    it.sounds(1, 2)
    it.step(AgentBeganSounding(2, it.book.now), "log turn")
    it.step(ReplyEnded(1))
    it.heard(2)
    it.step(CallerGone("hung up"), "log call_ended")


def test_an_answer_that_was_drafted() -> None:
    it = Ladder()
    it.greeted()
    it.step(SpeechStarted(0, 0), "Listen")
    it.step(TurnDrafted(RATE, 0, RATE, 0.8), "Draft", "log draft", after=1.0)
    it.step(ReplyText(1, 0, "At nine."))
    it.step(CallerWords(1, "When do you open?", final=True))
    it.step(it.ended(), "Resume", "log turn_ended", "log draft", "log caller_spoke", "Respond")
    it.sounds(1, 2)


def test_a_draft_of_a_turn_that_went_on() -> None:
    it = Ladder()
    it.greeted()
    it.step(SpeechStarted(0, 0), "Listen")
    it.step(TurnDrafted(RATE, 0, RATE, 0.8), "Draft", "log draft", after=1.0)
    it.step(TurnResumed(2 * RATE), "DropDraft", "log draft")
    it.step(ReplyText(1, 0, "At nine."))
    it.step(AgentAudio(1, 2, SECOND, ()))
    it.step(it.ended(), "Resume", "log turn_ended", "Respond", after=1.0)


def test_a_cut_in() -> None:
    it = Ladder()
    it.greeted()
    it.asked()
    it.step(ReplyText(1, 2, "At nine, but on Sundays."))
    it.step(AgentAudio(1, 2, SECOND, ()), "Play")
    it.step(AgentBeganSounding(2, it.book.now), "log turn")
    it.step(OverlapBegan(0, 0), "Duck", "Listen")
    it.step(OverlapHeld(0), "Hold")
    claimed = CallerClaimed(FloorClaimed(0, 0, "words: stop"), it.book.now)
    it.step(claimed, "Flush", "CancelReply")
    it.step(PlayoutFlushed((heard(2, 1.0, 0.5),)), "Truncate", "log interrupted")
    it.step(AgentAudio(1, 2, SECOND, ()))
    it.step(ReplyEnded(1))
    it.step(it.ended(), "Resume", "log turn_ended", "Respond", after=1.0)


def test_a_nod_costs_nothing() -> None:
    it = Ladder()
    it.greeted()
    it.asked()
    it.sounds(1, 2)
    it.step(AgentBeganSounding(2, it.book.now), "log turn")
    it.step(OverlapBegan(0, 0), "Duck", "Listen")
    nod = OverlapDismissed(0, "backchannel", "uh-huh")
    it.step(nod, "Resume", "Disregard", "log backchannel")
    it.step(ReplyEnded(1))
    it.heard(2)


def test_a_sound_that_was_none_while_an_answer_is_on_its_way() -> None:
    it = Ladder()
    it.greeted()
    it.asked()
    it.step(SpeechStarted(0, 0), "Listen", "Hold")
    it.step(TurnDropped(0), "Disregard", "Resume")
    it.sounds(1, 2)


def test_a_tool_that_is_read() -> None:
    it = Ladder()
    it.greeted()
    it.asked()
    it.step(ToolAsked(1, "a1", "lookup", {}), "log tool", "RunTool")
    it.step(ToolAnswered("a1", {"found": 1}, "done"), "log tool", "AnswerTool")
    it.sounds(1, 3)


def test_a_hold_and_its_end() -> None:
    it = Ladder()
    it.greeted()
    it.step(CallHeld("hold", it.book.now), "Hold", "log held")
    it.step(CallHeld("hold", it.book.now))
    it.step(TimePassed(), after=60.0)
    it.step(CallReleased(), "log released", "Resume")
    it.step(CallReleased())


def test_a_caller_who_says_nothing() -> None:
    it = Ladder()
    it.greeted()
    it.step(TimePassed(), "log idle", "Speak", after=8.0)
    it.sounds(0, 2)
    it.heard(2)
    it.step(TimePassed(), "log idle", "Flush", "Resume", "Speak", after=8.0)
    it.sounds(0, 3)
    it.step(AgentHeard(heard(3, 1.0, 1.0)), "log agent_spoke", after=1.0)
    it.step(PlayoutDry(), "HangUp")
    it.step(TimePassed(), after=60.0)
    it.step(CallerGone("agent"), "log call_ended")


def test_a_model_that_fails_once() -> None:
    it = Ladder()
    it.greeted()
    it.asked()
    it.step(BackendLost("broken", reply=1, fatal=False), "log fault", "CancelReply", "Respond")
    it.step(AgentAudio(1, 2, SECOND, ()))
    it.step(BackendLost("broken", reply=2, fatal=False), "log fault", "CancelReply", "Speak")
    it.sounds(0, 4)
    it.heard(4)


def test_a_call_that_is_to_end() -> None:
    it = Ladder()
    it.greeted()
    it.step(EndAsked("We close now.", "drained"), "Flush", "Resume", "Speak")
    it.step(it.ended())
    it.sounds(0, 2)
    it.step(AgentHeard(heard(2, 1.0, 1.0)), "log agent_spoke", after=1.0)
    it.step(PlayoutDry(), "HangUp")
    it.step(PlayoutDry())
