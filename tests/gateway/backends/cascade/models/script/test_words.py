"""Words of a recogniser, made comparable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.backends.cascade.models.script.words import (
    distance,
    find,
    find_any,
    likeness,
    phrase,
    words,
)


def test_words_are_compared_without_case_and_apostrophes_and_shown_as_written() -> None:
    heard = words("Um, it’s at 8:30 a.m. -- LET'S GO, L-L-E.")
    assert heard.norm == ("um", "its", "at", "8:30", "am", "lets", "go", "l", "l", "e")
    assert heard.raw[1] == "it's"
    assert heard.raw[-1] == "E"


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        ("I'm calling in today because about", True),
        ("Sure, this one was a...", True),
        ("or anything,", True),
        ("Uh, the first availability we have is", True),
        ("My last name is Miller.", False),
        ("Is it?", False),
        ("", False),
    ],
)
def test_what_breaks_off_is_known(text: str, unfinished: bool) -> None:
    assert words(text).unfinished is unfinished


@pytest.mark.parametrize(
    ("heard", "wanted", "place"),
    [
        ("the service light came on", "light came", (2, 4)),
        ("when do you open", "when * open", (0, 4)),
        ("when open", "when * open", (0, 2)),
        ("when are all of you open", "when * open", None),  # four words between
        ("walk in", "walk in now", None),
        ("walk walk in", "walk in", (1, 3)),
    ],
)
def test_phrases(heard: str, wanted: str, place: tuple[int, int] | None) -> None:
    assert find(heard.split(), phrase(wanted)) == place


def test_a_phrase_may_have_to_be_all_there_is() -> None:
    assert find_any(words("Um, what?").norm, ("=what",))
    assert not find_any(words("What are your hours?").norm, ("=what",))
    assert find_any(words("What are your hours?").norm, ("=what", "your hours")) == (2, 4)


WORD = st.text("abcde", max_size=7)


@given(WORD, WORD)
def test_distance_is_a_distance(a: str, b: str) -> None:
    apart = distance(a, b, 10)
    assert apart == distance(b, a, 10)
    assert (apart == 0) == (a == b)
    assert abs(len(a) - len(b)) <= apart <= max(len(a), len(b))
    assert distance(a, b, 1) == min(apart, 2)


def test_likeness_is_by_length() -> None:
    assert likeness("tesla", "tessla", 0.7) == pytest.approx(5 / 6)
    assert likeness("tesla", "toyota", 0.7) == 0.0
    assert likeness("a", "a", 1.0) == 1.0
