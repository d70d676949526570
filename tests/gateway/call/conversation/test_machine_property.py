"""Whatever happens in a conversation, in whatever order, some things always hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.call.conversation.machine import Conversation
from gateway.call.conversation.vocabulary import Effect, Event
from gateway.call.settings import ConversationSettings
from gateway.events import (
    AgentAudio,
    AgentBeganSounding,
    AgentHeard,
    BackendLost,
    BackendReady,
    BackendTurn,
    BeepHeard,
    CallerClaimed,
    CallerGone,
    CallerKey,
    CallerTurnEnded,
    CallerTyped,
    CallerWords,
    CallHeld,
    CallInfo,
    CallReleased,
    CallStarted,
    EndAsked,
    EndUtterance,
    Flush,
    HangUp,
    Heard,
    Hold,
    Play,
    PlayoutDry,
    PlayoutFlushed,
    PlayoutStalled,
    Record,
    ReplyEnded,
    ReplyExpects,
    ReplyText,
    Resume,
    Speak,
    TimePassed,
    ToolAnswered,
    ToolAsked,
    Transfer,
    TransferAsked,
    TransferEnded,
    UsageReported,
    UtteranceEnded,
    Word,
)
from gateway.log_events import CallEndedLogged
from gateway.ports import BackendTraits
from tests.support.playbook import BOOK, LOOKUP
from turn.events import (
    FloorClaimed,
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnEnded,
    TurnResumed,
)

RATE = 8000
SECOND = bytes(2 * RATE)

small = st.integers(0, 6)
"""Ids: those that are alive, were alive, and never will be."""
text = st.sampled_from(["", "yes please", "what", "one two three four"])

EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(SpeechStarted, st.just(0), st.just(0)),
    st.builds(SpeechStopped, st.just(0), st.just(0)),
    st.builds(TurnDrafted, st.just(9000), st.just(0), st.just(8000), st.just(0.5)),
    st.builds(TurnResumed, st.just(0)),
    st.builds(OverlapBegan, st.just(0), st.just(0)),
    st.builds(OverlapHeld, st.just(0)),
    st.builds(
        OverlapDismissed,
        st.just(0),
        st.sampled_from(["backchannel", "noise", "echo", "open"]),  # type: ignore[arg-type]
    ),
    st.builds(lambda: CallerClaimed(FloorClaimed(0, 0, "words"), 99.0)),
    st.builds(lambda: CallerTurnEnded(TurnEnded(8000, 0, 8000, "semantic", 0.9), 99.0)),
    st.builds(CallerWords, small, text, st.booleans()),
    st.builds(CallerTyped, text),
    st.builds(CallerKey, st.just("1")),
    st.builds(BackendTurn, st.sampled_from(["speech_started", "ended", "interrupted"])),  # type: ignore[arg-type]
    st.builds(ReplyText, small, small, text),
    st.builds(ReplyExpects, small, st.just("yes_no")),
    st.builds(
        lambda reply, utterance: AgentAudio(reply, utterance, SECOND, (Word("word", 0.0, 1.0),)),
        small,
        small,
    ),
    st.builds(UtteranceEnded, small, small, text),
    st.builds(ReplyEnded, small),
    st.builds(lambda utterance: AgentBeganSounding(utterance, 100.0), small),
    st.builds(PlayoutStalled, st.just(1.0)),
    st.builds(TransferEnded, st.booleans(), st.just("busy")),
    st.builds(EndAsked, text, st.just("drained")),
    st.builds(TransferAsked, st.sampled_from(["sales", "nobody"])),
    st.builds(TimePassed),
    st.builds(BackendReady, st.just("cascade")),
    st.builds(
        BackendLost,
        st.just("broke"),
        st.sampled_from(["model", "voice", "session"]),  # type: ignore[arg-type]
        st.none() | small,
        st.booleans(),
    ),
    st.builds(UsageReported, st.just({})),
    st.builds(
        ToolAsked,
        small,
        st.sampled_from(["a", "b"]),
        st.sampled_from(["lookup", "book", "hang_up", "transfer", "none such"]),
        st.just({"target": "desk"}),
    ),
    st.builds(
        ToolAnswered,
        st.sampled_from(["a", "b", "1", "2", "3"]),
        st.just({}),
        st.sampled_from(["done", "failed"]),  # type: ignore[arg-type]
    ),
    st.builds(CallerGone, st.just("hung up"), st.booleans()),
    st.builds(lambda: CallHeld("hold", 99.0)),
    st.builds(CallReleased),
    st.builds(BeepHeard),
)

HEARING = st.sampled_from(["hear", "dry"])
"""What the ledger does: it is played by the test, so that it is true to what was queued."""


class Course:
    """Drives a conversation as the shell does, with a ledger that knows what was queued."""

    def __init__(self, traits: BackendTraits, *, screened: bool = False) -> None:
        self.now = 100.0
        info = CallInfo("c1", "twilio", "test", screened=screened)
        self.machine = Conversation(info, ConversationSettings(tools=(LOOKUP, BOOK)), traits)
        self.queued: dict[int, int] = {}
        self.flushed: set[int] = set()
        self.away = False
        self.hang_ups = 0
        self.ends = 0
        self.handle(CallStarted())

    def handle(self, event: Event) -> None:
        """Let one event happen, and perform what follows as the shell would."""
        inbox = [event]
        while inbox:
            one = inbox.pop(0)
            alive = self._alive()
            for effect in self.machine.handle(one, self.now):
                self._perform(effect, one, alive, inbox)
        deadline = self.machine.deadline
        if isinstance(event, TimePassed) and deadline is not None:
            assert deadline > self.now, "a deadline that does not advance"

    def _alive(self) -> set[int]:
        replies = self.machine.state.replies
        return {each.id for each in (replies.current, replies.draft) if each is not None}

    def _perform(self, effect: Effect, event: Event, alive: set[int], inbox: list[Event]) -> None:
        match effect:
            case Play(utterance=utterance):
                assert isinstance(event, AgentAudio)
                assert event.reply == 0 or event.reply in alive, "sound of a void reply"
                assert utterance not in self.flushed, "sound of speech that was cut off"
                self.queued[utterance] = self.queued.get(utterance, 0) + RATE
            case Hold(holder="line"):
                assert not self.away, "held twice"
                self.away = True
            case Resume(holder="line"):
                self.away = False
            case Speak(utterance=utterance):
                idle = isinstance(event, TimePassed) and self.away
                assert not idle, "the passing of time made the agent speak to nobody"
                inbox.append(AgentAudio(0, utterance, SECOND, (Word("line", 0.0, 1.0),)))
                inbox.append(UtteranceEnded(0, utterance))
            case Flush():
                heard = tuple(
                    Heard(u, n, n // 2, 0, "acknowledged") for u, n in self.queued.items()
                )
                self.flushed |= set(self.queued)
                self.queued.clear()
                inbox.insert(0, PlayoutFlushed(heard))
            case HangUp(reason=reason):
                self.hang_ups += 1
                due = isinstance(event, TimePassed) or not reason.startswith("agent")
                due = due and (not self.away or reason in ("call limit", "drained"))
                assert due or not self.queued, "hung up over what is still being said"
            case Record(event=CallEndedLogged()):
                self.ends += 1
            case EndUtterance() | Transfer() | _:
                pass

    def hear(self) -> None:
        """Let the caller hear everything that is queued; on hold they hear nothing."""
        if self.away and self.queued:
            return
        for utterance, samples in list(self.queued.items()):
            self.now += samples / RATE
            self.handle(AgentBeganSounding(utterance, self.now))
            if self.queued.pop(utterance, None) is not None:
                heard = Heard(utterance, samples, samples, 0, "acknowledged")
                self.handle(AgentHeard(heard))
        self.handle(PlayoutDry())

    def check(self) -> None:
        """Say what must hold at any time."""
        assert self.ends <= 1
        assert self.hang_ups <= 1, "hung up twice"
        for entry in self.machine.state.history.entries():
            if entry.interrupted:
                assert entry.role == "agent"


@pytest.mark.parametrize("owns_turns", [False, True])
@pytest.mark.parametrize("screened", [False, True])
@given(steps=st.lists(EVENTS | HEARING, max_size=40), pauses=st.data())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_whatever_happens(
    owns_turns: bool, screened: bool, steps: list[Event | str], pauses: st.DataObject
) -> None:
    course = Course(BackendTraits(owns_turns=owns_turns), screened=screened)
    for step in steps:
        course.now += pauses.draw(st.sampled_from([0.0, 0.02, 0.5, 4.0]))
        match step:
            case "hear" | "dry":
                course.hear()
            case TimePassed():
                deadline = course.machine.deadline
                if deadline is not None:
                    course.now = max(course.now, deadline)
                    course.handle(step)
            case _:
                course.handle(step)  # type: ignore[arg-type]
        course.check()
    course.handle(CallerGone("hung up"))
    assert course.ends == 1
    assert course.machine.deadline is None or course.machine.state.tools.deadline is not None
    assert course.machine.handle(CallerTyped("hello"), course.now) == []


@given(heard=st.floats(0.0, 3.0), words=st.integers(1, 12))
def test_after_a_flush_the_history_has_no_word_that_was_not_heard(heard: float, words: int) -> None:
    course = Course(BackendTraits())
    course.hear()
    course.handle(CallerTurnEnded(TurnEnded(8000, 0, 8000, "semantic", 0.9), course.now))
    reply = course.machine.state.replies.current
    assert reply is not None
    course.handle(CallerWords(1, "hello", final=True))
    said = [f"w{n}" for n in range(words)]
    course.handle(ReplyText(reply.id, reply.utterance, " ".join(said)))
    spoken = tuple(Word(w, n * 0.3, (n + 1) * 0.3) for n, w in enumerate(said))
    course.handle(AgentAudio(reply.id, reply.utterance, SECOND * 4, spoken))
    position = int(heard * RATE)
    course.handle(PlayoutFlushed((Heard(reply.utterance, 4 * RATE, position, 0, "acknowledged"),)))
    kept = course.machine.state.history.entries()[-1].text.split()
    assert all((n + 0.5) * 0.3 <= heard for n, word in enumerate(said) if word in kept)
