"""Sounds that are nothing cost nothing: not the wait for the caller, nor an answer on its way."""

from __future__ import annotations

from gateway.call.conversation.vocabulary import Effect
from gateway.call.conversation.waits import Wait
from gateway.events import Disregard, Hold, Listen, Resume, Speak
from tests.support.playbook import Playbook, only
from turn.events import SpeechStarted, SpeechStopped, TurnDropped

IDLE = 8.0


def greeted() -> Playbook:
    """Return a call in which the greeting was heard and the floor is the caller's."""
    book = Playbook()
    book.hear_line(book.start())
    return book


def click(book: Playbook) -> list[Effect]:
    """Let a click be heard; give what followed."""
    effects = book.happens(SpeechStarted(800, 800))
    effects += book.happens(SpeechStopped(1600, 1200), after=0.1)
    return effects + book.happens(TurnDropped(4000), after=0.3)


def test_a_click_does_not_restart_the_wait_for_the_caller() -> None:
    book = greeted()
    due = book.now + IDLE
    assert book.machine.deadline == due
    book.now += 5.0
    effects = click(book)
    assert [type(each) for each in effects] == [Listen, Disregard]
    assert book.machine.deadline == due


def test_noise_that_goes_on_past_the_wait_has_the_caller_asked_when_it_stops() -> None:
    book = greeted()
    book.happens(SpeechStarted(800, 800), after=7.0)
    book.happens(TurnDropped(80000), after=9.0)
    assert book.machine.deadline == book.now


def test_a_turn_without_words_does_not_restart_the_wait() -> None:
    book = greeted()
    due = book.now + IDLE
    book.happens(SpeechStarted(800, 800), after=2.0)
    book.turn("")
    assert book.machine.deadline == due


def test_a_click_does_not_keep_back_an_answer_that_is_on_its_way() -> None:
    book = greeted()
    book.turn("what time is it")
    effects = click(book)
    assert [type(each) for each in effects if isinstance(each, Hold | Resume)] == [Hold, Resume]
    assert Wait.HELD not in book.machine.state.waits


def test_after_a_click_the_caller_is_waited_for_at_all() -> None:
    """Also where the agent finished while it sounded."""
    book = Playbook()
    line = book.start()
    book.happens(SpeechStarted(800, 800))
    book.hear_line(line)
    assert Wait.IDLE not in book.machine.state.waits
    book.happens(TurnDropped(9000), after=0.3)
    assert book.machine.deadline == book.now + IDLE
    assert only(book.effects, Speak) == [line]
