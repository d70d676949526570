"""Where a stream of tokens is cut."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tts.clauses import ClauseCutter, ClauseSettings


def cut(text: str, *sizes: int) -> list[str]:
    """Cut a text that comes in tokens of these sizes, again and again; 3 if none are given."""
    cutter = ClauseCutter()
    clauses: list[str] = []
    at = turn = 0
    while at < len(text):
        size = (sizes or (3,))[turn % len(sizes or (3,))]
        clauses += cutter.push(text[at : at + size])
        at += size
        turn += 1
    return clauses + cutter.flush()


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        (
            "Hello Jack, thanks for calling. How can I help you?",
            ["Hello Jack, thanks for calling. ", "How can I help you?"],
        ),
        (
            "Thanks for calling Platinum Motors, how can I help you, today?",
            ["Thanks for calling Platinum Motors, ", "how can I help you, today?"],
        ),
        ("Sure. Let me look.", ["Sure. ", "Let me look."]),
        ("Really?! Yes.", ["Really?! ", "Yes."]),
        ('He said "stop." Then he left.', ['He said "stop." ', "Then he left."]),
        ("1. First thing\n2. Second thing", ["1. First thing\n", "2. Second thing"]),
        # without any comma, the first ends where one may breathe
        (
            "I can certainly find you a free time because we are open on Monday",
            ["I can certainly find you a free time ", "because we are open on Monday"],
        ),
        # inside of these nothing is cut
        ("I saw Dr. Smith at St. Mary.", ["I saw Dr. Smith at St. Mary."]),
        ("It is J. K. Rowling.", ["It is J. K. Rowling."]),
        ("See you at 8 a.m. tomorrow.", ["See you at 8 a.m. tomorrow."]),
        ("See you at 8 a.m. Bring it.", ["See you at 8 a.m. ", "Bring it."]),
        ("You have paid $1,249.50 today.", ["You have paid $1,249.50 today."]),
        ("It is on March 4, 2026 then.", ["It is on March 4, 2026 then."]),
        ("It starts at 10:30 then.", ["It starts at 10:30 then."]),
        ("Your numbers are 1, 2, 3 then.", ["Your numbers are 1, 2, 3 then."]),
        ("You are called C, I, L, L then.", ["You are called C, I, L, L then."]),
        ("Write to jack.smith@example.com now.", ["Write to jack.smith@example.com now."]),
        ("It is version 2.0.1 by now.", ["It is version 2.0.1 by now."]),
    ],
)
def test_it_is_cut_there(text: str, clauses: list[str]) -> None:
    assert cut(text) == clauses


def test_a_clause_leaves_with_the_next_letter() -> None:
    cutter = ClauseCutter()
    assert cutter.push("Thanks for calling") == []
    assert cutter.push(",") == []
    assert cutter.push(" ") == []
    assert cutter.push("how") == ["Thanks for calling, "]


def test_only_the_first_is_short() -> None:
    tail = "and then we go on for a while, and on, and on, until it ends."
    first, *rest = cut(f"Well, that is good, {tail}")
    assert first == "Well, that is good, "
    assert rest[0] == "and then we go on for a while, and on, "


def test_every_text_has_a_first_clause() -> None:
    cutter = ClauseCutter()
    assert [*cutter.push("One two three, four. "), *cutter.flush()][0] == "One two three, "
    assert [*cutter.push("One two three, four. "), *cutter.flush()][0] == "One two three, "


LIKE_SPEECH = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("word", "a", "I", "8", "and", "because", ",", ".", "?", "…", "—", " ", " ", " "),
                *("\n", "a.m.", "Dr.", '"', ")", ":", "1,000", "x" * 90, "  "),
            ]
        ),
        st.text(max_size=4),
    ),
    max_size=120,
).map("".join)


@given(LIKE_SPEECH, st.lists(st.integers(1, 40), min_size=1, max_size=5))
@example("x" * 700, [1])
@example(" " * 700, [7])
@example(("word " * 43) + "and then", [1])
def test_clauses_are_the_text_and_do_not_depend_on_the_tokens(text: str, sizes: list[int]) -> None:
    clauses = cut(text, *sizes)
    assert "".join(clauses) == text
    assert all(clauses)
    assert all(len(clause) <= ClauseSettings().longest + 16 for clause in clauses)
    assert clauses == cut(text, max(1, len(text)))
