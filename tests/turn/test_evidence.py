"""Evidence shifts belief to the right side, and never beyond reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turn.evidence import Asked, belief, owed, series, together
from turn.words import lexicon, read

EN = lexicon("en")
NOTHING = Asked()


def believed(probability: float | None, text: str, expects: str = "", voiced: float = 1.5) -> float:
    return belief(probability, read(text, EN), Asked.parse(expects), voiced)


def test_the_detector_alone_is_believed() -> None:
    assert belief(0.7, None, NOTHING, 2.0) == pytest.approx(0.7)
    assert belief(None, None, NOTHING, 2.0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "text",
    ["I want a coffee with", "My number is", "I would like a, um,", "So I was thinking and"],
)
def test_a_word_that_is_owed_outweighs_a_falling_melody(text: str) -> None:
    assert believed(0.95, text) < 0.5
    assert owed(read(text, EN))


@pytest.mark.parametrize("text", ["What time do you open?", "No, that's all, thank you."])
def test_a_question_or_a_closing_helps_a_doubtful_melody(text: str) -> None:
    assert believed(0.7, text) > 0.85


def test_sure_is_no_name() -> None:
    assert believed(0.98, "Sure.") == pytest.approx(0.75)
    assert believed(0.98, "Sure.", "name") < 0.3
    assert believed(0.98, "It's Miller.", "name") > 0.9


def test_yes_is_an_answer_where_one_was_asked_for() -> None:
    assert believed(0.9, "Yes.") < 0.85
    assert believed(0.9, "Yes.", "yes_no", 0.2) > 0.95
    question = Asked(question=True)
    assert belief(0.9, read("Yes.", EN), question, 0.4) > 0.95
    assert belief(0.9, read("Sure.", EN), question, 0.4) < 0.85


@pytest.mark.parametrize("expects", ["digits", "spelling", "phone"])
def test_what_was_asked_for_and_not_said_is_waited_for(expects: str) -> None:
    asked, read_ = Asked.parse(expects), read("Well, I have it here somewhere.", EN)
    assert belief(0.95, read_, asked, 1.5, form="due") < 0.5
    assert belief(0.95, read_, asked, 1.5, form="none") > 0.5
    assert believed(0.98, "Sure.", expects) < 0.3


def test_a_form_is_dictated_where_the_agent_or_its_question_says_so() -> None:
    assert Asked.parse("phone").dictates == "phone"
    assert Asked(form="spelling").dictates == "spelling"
    assert Asked(kind="yes_no", form="spelling").dictates == ""
    assert Asked().dictates == ""


def test_a_sound_without_words_or_with_too_little_voice_is_not_answered_in_haste() -> None:
    assert believed(0.98, "") == pytest.approx(0.75)
    assert believed(0.98, "What?", voiced=0.1) < 0.75


def test_groups_of_digits_and_letters_are_series() -> None:
    assert series(read("it's five five five", EN))
    assert series(read("L-L-E", EN))
    assert not series(read("at five", EN))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=3))
def test_answers_together_lie_between_them(answers: list[float]) -> None:
    assert max(min(answers), 0.01) - 1e-9 <= together(answers) + 0.01
    assert together(answers) <= min(max(answers) + 0.01, 0.99) + 1e-9


@given(st.floats(0, 1), st.floats(0, 1), st.text(max_size=20), st.floats(0, 5))
def test_belief_grows_with_the_detectors(a: float, b: float, text: str, voiced: float) -> None:
    low, high = sorted((a, b))
    reading = read(text, EN)
    assert 0 <= belief(low, reading, NOTHING, voiced) <= belief(high, reading, NOTHING, voiced) <= 1
