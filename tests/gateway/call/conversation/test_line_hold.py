"""What a conversation does while nobody is at the caller's end, and when they are back."""

from __future__ import annotations

import pytest

from gateway.call.settings import ConversationSettings
from gateway.events import (
    AgentBeganSounding,
    AgentHeard,
    BackendTurn,
    CallerTurnEnded,
    CallHeld,
    CallReleased,
    EndAsked,
    HangUp,
    Hold,
    PlayoutDry,
    ReplyEnded,
    Respond,
    Resume,
    Speak,
    TimePassed,
    ToolAsked,
)
from gateway.ports import BackendTraits
from gateway.tools.builtins import BUILTINS
from tests.support.playbook import LOOKUP, Playbook, heard, only, plays, records
from turn.events import SpeechStarted, TurnDrafted, TurnEnded

LONG = 120.0
"""Seconds on hold: longer than every wait of a conversation."""


def greeted(
    settings: ConversationSettings | None = None, traits: BackendTraits | None = None
) -> Playbook:
    book = Playbook(settings, traits)
    book.hear_line(book.start())
    return book


def hold(book: Playbook) -> None:
    assert book.happens(CallHeld("hold", book.now))[0] == Hold("line", book.now)


def wait(book: Playbook, seconds: float = LONG) -> list[object]:
    """Let time pass as the shell does: at every deadline, and at the end."""
    effects: list[object] = []
    until = book.now + seconds
    while (deadline := book.machine.deadline) is not None and deadline <= until:
        book.now = deadline
        effects += book.happens(TimePassed())
        left = book.machine.deadline
        assert left is None or left > deadline, "a deadline that does not advance"
    book.now = until
    return effects


def test_a_caller_on_hold_is_not_asked_whether_they_are_there() -> None:
    book = greeted()
    hold(book)
    assert wait(book) == []
    released = book.happens(CallReleased())
    assert Resume("line") in released
    assert only(released, Speak) == []
    assert records(released, "released") == [{"seconds": LONG}]
    idle = book.machine.state.settings.idle_seconds
    assert wait(book, idle - 0.1) == []  # and then they have all their time again
    assert [one.text for one in only(book.happens(TimePassed(), 0.2), Speak)] == [
        "Are you still there?"
    ]


@pytest.mark.parametrize("begun", ["before", "meanwhile"])
@pytest.mark.parametrize("gap", [0.0, 3.0])
def test_a_turn_that_ends_on_hold_is_answered_after_it_once(begun: str, gap: float) -> None:
    """Whether the answer begins to be made before the hold or in it."""
    book = greeted()
    spoke_until = book.now
    if begun == "meanwhile":
        hold(book)
    ended = TurnEnded(8000, 0, 8000, "semantic", 0.9)
    (respond,) = only(book.happens(CallerTurnEnded(ended, spoke_until), 0.5), Respond)
    if begun == "before":
        hold(book)
    book.now += gap
    said = book.reply(respond, "We open at nine.")
    assert wait(book) == []  # no filler, no apology, no other answer
    back = book.happens(CallReleased())
    assert only(back, Respond) == []
    book.happens(AgentBeganSounding(said, book.now + 0.1), 0.1)
    (turn,) = records(book.effects, "turn")
    # The caller felt the half second to the end of the turn, the tenth after the hold, and what
    # was over when it began.
    assert turn["response"] == pytest.approx(0.1 + (0.5 if begun == "before" else 0.0))
    assert sum(turn["stages"].values()) == pytest.approx(turn["response"])  # type: ignore[attr-defined]
    assert float(str(turn["held"])) > LONG
    assert plays(book.effects).count(said) == 1


def test_a_turn_whose_end_is_found_after_a_short_hold_has_no_hold_in_its_response() -> None:
    book = greeted()
    spoke_until = book.now
    book.now += 0.2
    hold(book)
    book.now += 5.0
    book.happens(CallReleased())
    ended = TurnEnded(8000, 0, 8000, "semantic", 0.9)
    (respond,) = only(book.happens(CallerTurnEnded(ended, spoke_until), 0.3), Respond)
    said = book.reply(respond, "We open at nine.")
    book.happens(AgentBeganSounding(said, book.now))
    (turn,) = records(book.effects, "turn")
    assert turn["held"] == pytest.approx(5.0)
    assert turn["response"] == pytest.approx(0.2 + 0.3 + 0.1 + 0.05)


def test_a_draft_that_is_begun_before_a_hold_is_used_after_it() -> None:
    book = greeted()
    spoke_until = book.now
    book.happens(SpeechStarted(0, 0))
    book.happens(TurnDrafted(8800, 0, 8000, 0.7), 0.1)
    hold(book)
    book.happens(CallReleased(), 30.0)
    ended = TurnEnded(8000, 0, 8000, "semantic", 0.9)
    (respond,) = only(book.happens(CallerTurnEnded(ended, spoke_until), 0.4), Respond)
    said = book.reply(respond, "Yes.")
    book.happens(AgentBeganSounding(said, book.now))
    (turn,) = records(book.effects, "turn")
    assert turn["response"] == pytest.approx(0.1 + 0.4 + 0.1 + 0.05)
    assert 0.0 <= float(str(turn["draft_saved"])) <= 0.5


def test_a_model_that_owns_turns_is_answered_for_after_the_hold() -> None:
    book = greeted(traits=BackendTraits(owns_turns=True))
    hold(book)
    (respond,) = only(book.happens(BackendTurn("ended"), 1.0), Respond)
    said = book.reply(respond, "Hello.")
    assert wait(book) == []
    book.happens(CallReleased())
    book.happens(AgentBeganSounding(said, book.now + 0.02), 0.02)
    (turn,) = records(book.effects, "turn")
    assert turn["response"] == pytest.approx(0.02)


def test_a_goodbye_waits_for_the_caller_to_be_back() -> None:
    """Its bound too: who is put on hold for two minutes in the middle of it is not cut off."""
    book = greeted()
    (goodbye,) = only(book.happens(EndAsked("Goodbye.", "drained")), Speak)
    hold(book)
    assert wait(book) == []
    assert only(book.happens(CallReleased()), HangUp) == []
    book.hear_line(goodbye)
    assert only(book.effects, HangUp) == [HangUp("drained")]


def test_a_goodbye_that_is_asked_for_on_hold_is_said_after_it() -> None:
    book = greeted()
    hold(book)
    book.happens(PlayoutDry())
    (goodbye,) = only(book.happens(EndAsked("Goodbye.", "drained")), Speak)
    assert wait(book) == []
    assert only(book.happens(CallReleased()), HangUp) == []
    book.hear_line(goodbye)
    assert only(book.effects, HangUp) == [HangUp("drained")]


def test_an_end_without_words_waits_too() -> None:
    """The agent hangs up once its last word was heard, and that is found out on hold."""
    book = greeted(ConversationSettings(tools=(BUILTINS["hang_up"],)))
    respond = book.turn("bye then")
    book.happens(ToolAsked(respond.reply, "a1", "hang_up", {}))
    hold(book)
    wait(book, 1.0)
    assert only(book.happens(ReplyEnded(respond.reply)), HangUp) == []
    assert wait(book) == []
    assert len(only(book.happens(CallReleased()), HangUp)) == 1


def test_a_call_may_not_last_for_ever_on_hold() -> None:
    """It ends without a word when it has lasted as long as a call may: nobody would hear one."""
    book = greeted(ConversationSettings(call_seconds=60.0))
    hold(book)
    effects = wait(book)
    assert effects == [HangUp("call limit")]


def test_no_word_bridges_the_wait_for_a_tool_on_hold() -> None:
    book = greeted(ConversationSettings(tools=(LOOKUP,)))
    respond = book.turn("look it up")
    book.happens(ToolAsked(respond.reply, "a1", "lookup", {}))
    hold(book)
    assert only(wait(book, 8.0), Speak) == []  # type: ignore[arg-type]
    assert only(book.happens(CallReleased()), Speak) == []
    assert only(wait(book, 1.5), Speak) != []  # type: ignore[arg-type]


def test_held_twice_is_held_once_and_a_stray_release_is_none() -> None:
    book = greeted()
    assert book.happens(CallReleased()) == []
    hold(book)
    assert book.happens(CallHeld("hold", book.now), 1.0) == []
    assert len(book.happens(CallReleased())) == 2
    assert book.happens(CallReleased()) == []


def test_what_was_heard_when_the_hold_came_is_told_in_it() -> None:
    book = greeted()
    respond = book.turn("hello")
    said = book.reply(respond, "Hi there.")
    hold(book)
    book.happens(AgentHeard(heard(said, 1.0, 1.0)))
    assert book.happens(PlayoutDry()) == []
    assert wait(book) == []
    book.happens(CallReleased())
    assert book.machine.deadline == book.now + book.machine.state.settings.idle_seconds
