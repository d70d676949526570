"""What of an utterance was heard, in the agent's own writing."""

from __future__ import annotations

import pytest

from gateway.call.conversation.speech import Utterance
from gateway.events import Word


def number() -> Utterance:
    """Return an utterance whose last word is said digit by digit."""
    words = [
        Word("Call", 0.0, 0.4),
        Word("5", 0.4, 0.8),
        Word("5", 0.8, 1.2, glued=True),
        Word("5-", 1.2, 1.6, glued=True),
        Word("0", 1.6, 2.0, glued=True),
        Word("now.", 2.0, 2.4),
    ]
    return Utterance(1, "reply", text="Call 555-0 now.", words=words)


@pytest.mark.parametrize(
    ("heard", "text"),
    [(0.1, ""), (0.3, "Call"), (1.1, "Call 55"), (1.9, "Call 555-0"), (9.0, "Call 555-0 now.")],
)
def test_a_number_is_cut_where_the_caller_cut_in(heard: float, text: str) -> None:
    assert number().heard_text(heard, 2.4) == text


GREETING = "Hi, I'm Ada. How can I help you today? Just say it."


def spoken(text: str, *, words: bool = True) -> Utterance:
    """Return an utterance said at a word in half a second."""
    said = [Word(word, n / 2, n / 2 + 0.5) for n, word in enumerate(text.split())]
    return Utterance(1, "reply", text=text, words=said if words else [], ended=True)


@pytest.mark.parametrize(
    ("heard", "asking"), [(0.5, False), (3.9, False), (4.2, True), (6.4, True), (6.6, False)]
)
def test_a_question_asks_from_when_it_was_heard_until_the_agent_went_on(
    heard: float, asking: bool
) -> None:
    """`today?` ends at 4.5 s, and what follows takes longer than an answer's beginning."""
    assert spoken(GREETING + " " + "Take your time." * 3).asking(heard, 20.0) is asking


def test_what_an_utterance_ends_on_asks_until_it_is_answered() -> None:
    utterance = spoken("It is Monday. Is that all?")
    assert not utterance.asking(2.5, 3.0)
    assert utterance.asking(2.6, 3.0)
    assert utterance.asking(30.0, 3.0)


def test_without_word_times_a_question_is_placed_by_proportion() -> None:
    utterance = spoken("It is Monday. Is that all?", words=False)
    assert not utterance.asking(2.5, 3.0)
    assert utterance.asking(2.6, 3.0)


def test_of_an_utterance_that_is_not_all_there_no_question_was_heard_sooner_than_can_be_said() -> (
    None
):
    utterance = Utterance(1, "reply", text="It is Monday. Is that all?")
    assert not utterance.asking(0.5, 0.6)
    assert utterance.asking(1.0, 1.0)


@pytest.mark.parametrize("text", ["Is it?", 'He said "is it?"', "¿Es todo?", "全部ですか？"])
def test_questions_end_on_a_mark(text: str) -> None:
    assert spoken(text).questions
    assert spoken(text).asking(100.0, 100.0)


def test_what_asks_nothing_is_never_answered() -> None:
    assert not spoken("It is Monday.").questions
    assert not spoken("It is Monday.").asking(9.0, 9.0)
