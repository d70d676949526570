"""A turn that ended too early costs nothing: its parts are one, and nothing was done meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.call.settings import ConversationSettings
from gateway.events import (
    AnswerTool,
    CallerTurnEnded,
    CallerWords,
    Draft,
    Respond,
    RunTool,
    TimePassed,
    ToolAsked,
    Truncate,
)
from gateway.ports import BackendTraits, ToolSpec
from tests.support.playbook import RATE, Playbook, only, records
from turn.events import SpeechStarted, TurnDrafted, TurnDropped, TurnEnded

SAVE = ToolSpec("save", "Save.", {"type": "object"}, effect="write")


def greeted(traits: BackendTraits | None = None) -> Playbook:
    book = Playbook(ConversationSettings(tools=(SAVE,)), traits)
    book.hear_line(book.start())
    return book


def turn(
    book: Playbook, text: str, start: float, end: float, probability: float = 0.85, **why: Any
) -> Respond:
    """Let the caller be done with what they say from `start` to `end` of their stream."""
    ended = TurnEnded(
        int((end + 0.3) * RATE), int(start * RATE), int(end * RATE), "semantic", probability, **why
    )
    effects = book.happens(CallerTurnEnded(ended, book.now), 0.3)
    (respond,) = only(effects, Respond)
    book.happens(CallerWords(respond.turn, text, final=True), 0.05)
    return respond


def said(book: Playbook) -> list[tuple[str, str]]:
    """Return what stands in the history after the greeting."""
    return [(entry.role, entry.text) for entry in book.machine.state.history.entries()][1:]


def joined(book: Playbook, first: Respond, second: Respond) -> bool:
    lines = records(book.effects, "turn_rejoined")
    return lines == [{"turn": second.turn, "before": first.turn}]


def test_who_goes_on_before_the_answer_was_heard_makes_one_turn() -> None:
    book = greeted()
    first = turn(book, "I would like", 1.0, 2.0)
    book.happens(SpeechStarted(0, int(2.8 * RATE)), 0.4)
    second = turn(book, "I would like a coffee", 2.8, 4.0)
    assert joined(book, first, second)
    assert (second.start, second.end) == (RATE, 4 * RATE)
    assert [entry.role for entry in second.history] == ["agent"]
    assert said(book) == [("caller", "I would like a coffee")]


def test_an_answer_of_which_a_syllable_was_heard_leaves_no_trace() -> None:
    book = greeted()
    first = turn(book, "I would like", 1.0, 2.0)
    utterance = book.reply(first, "Sure thing, what else?", 2.0)
    effects = book.cut_in(utterance, 2.0, 0.3)
    assert [each.heard_text for each in only(effects, Truncate)] == [""]
    second = turn(book, "I would like a coffee", 2.8, 4.0)
    assert joined(book, first, second)
    assert said(book) == [("caller", "I would like a coffee")]


def test_an_answer_that_was_heard_was_an_answer() -> None:
    book = greeted()
    first = turn(book, "I would like", 1.0, 2.0)
    utterance = book.reply(first, "Sure thing, what else?", 2.0)
    book.cut_in(utterance, 2.0, 1.2)
    second = turn(book, "a coffee", 2.8, 4.0)
    assert records(book.effects, "turn_rejoined") == []
    assert second.start == int(2.8 * RATE)
    assert said(book)[0] == ("caller", "I would like")
    assert said(book)[-1] == ("caller", "a coffee")


@pytest.mark.parametrize("traits", [BackendTraits(wants_transcript=True), None])
def test_later_or_where_the_model_hears_for_itself_it_is_a_turn_of_its_own(
    traits: BackendTraits | None,
) -> None:
    book = greeted(traits)
    turn(book, "I would like", 1.0, 2.0)
    book.happens(SpeechStarted(0, int(2.8 * RATE)), 0.4 if traits else 1.6)
    second = turn(book, "a coffee", 2.8, 4.0)
    assert second.start == int(2.8 * RATE)
    assert said(book) == [("caller", "I would like"), ("caller", "a coffee")]


def test_a_cough_after_a_turn_joins_nothing() -> None:
    book = greeted()
    turn(book, "I would like", 1.0, 2.0)
    book.happens(SpeechStarted(0, int(2.8 * RATE)), 0.4)
    book.happens(TurnDropped(3 * RATE), 0.2)
    second = turn(book, "a coffee", 4.8, 6.0)
    assert second.start == int(4.8 * RATE)


def test_a_draft_is_of_the_whole_turn() -> None:
    book = greeted()
    turn(book, "I would like", 1.0, 2.0)
    book.happens(SpeechStarted(0, int(2.8 * RATE)), 0.4)
    drafted = TurnDrafted(int(4.1 * RATE), int(2.8 * RATE), 4 * RATE, 0.6)
    (draft,) = only(book.happens(drafted, 1.0), Draft)
    assert draft.start == RATE
    assert [entry.role for entry in draft.history] == ["agent"]


def write(book: Playbook, respond: Respond) -> list[RunTool]:
    return only(book.happens(ToolAsked(respond.reply, "a1", "save", {})), RunTool)


def test_a_write_waits_for_a_doubtful_end_and_runs_when_nobody_went_on() -> None:
    book = greeted()
    respond = turn(book, "save it", 1.0, 2.0, probability=0.85)
    assert write(book, respond) == []
    assert only(book.happens(TimePassed(), 1.0), RunTool) == []
    assert len(only(book.happens(TimePassed(), 0.5), RunTool)) == 1


def test_a_write_of_a_turn_that_went_on_is_never_done() -> None:
    book = greeted()
    respond = turn(book, "save it", 1.0, 2.0, probability=0.85)
    assert write(book, respond) == []
    book.happens(SpeechStarted(0, int(2.8 * RATE)), 0.4)
    turn(book, "save it not", 2.8, 4.0)
    book.happens(TimePassed(), 5.0)
    assert only(book.effects, RunTool) == []


def test_a_write_after_a_sure_end_does_not_wait() -> None:
    book = greeted()
    respond = turn(book, "save it", 1.0, 2.0, probability=0.97)
    assert len(write(book, respond)) == 1
    assert only(book.effects, AnswerTool) == []
