"""What is a yes, what is a no, and what is neither."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turn.consent import explicit_yes, knows, verdict, words_of, yes_words

DATA = Path(__file__).parents[1] / "data" / "consent"
SETS = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in DATA.glob("*.toml")}
LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")
PLAIN = [(code, text) for found in SETS.values() for code in found for text in found[code]["plain"]]

NO = [
    "No.",
    "Nope, not yet.",
    "Yeah, no.",
    "No, that's fine.",
    "Uh, I don't think so, I think that's it. You've been great.",
    "I don't think so. And the bit isn't great.",
    "Never mind.",
]
DOUBT = ["I think so.", "Uh-huh.", "Maybe, yes.", "Yes?", "Yes...", "yes and", "Right.", ""]
OTHER = [
    "Yes, but make it nine.",
    "Okay, what time was that?",
    "Wait.",
    "Yes, I don't have another day.",
    "No, yeah.",
    "Friday at nine.",
    "Yesterday.",
]


@pytest.mark.parametrize("name", ["develop", "heldout"])
def test_a_yes_is_a_yes_and_nothing_else_is(name: str) -> None:
    """Held out are sentences that no list was fitted to."""
    found = SETS[name]
    assert set(found) == set(LANGUAGES)
    none = [(code, text) for code in found for text in found[code]["none"]]
    plain = [(code, text) for code in found for text in found[code]["plain"]]
    assert [each for each in none if explicit_yes(each[1], each[0])] == []
    missed = [each for each in plain if not explicit_yes(each[1], each[0])]
    assert len(missed) <= 0.05 * len(plain), missed


@given(
    st.sampled_from(PLAIN),
    st.integers(0, 12),
    st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=9),
)
def test_a_word_that_nobody_listed_makes_it_none(
    plain: tuple[str, str], at: int, word: str
) -> None:
    code, text = plain
    lists = yes_words(code)
    assert lists is not None
    listed = {
        each for name in ("yes", "around", "before") for p in getattr(lists, name) for each in p
    }
    listed |= {each for phrases in lists.acts.values() for phrase in phrases for each in phrase}
    if word in listed:
        return
    words = text.split()
    assert not explicit_yes(" ".join([*words[:at], word, *words[at:]]), code)


@pytest.mark.parametrize(("code", "text"), PLAIN)
def test_a_question_and_a_text_that_was_cut_off_are_none(code: str, text: str) -> None:
    bare = text.rstrip(".?!")
    for end in ("?", "...", "…", ",", " -"):
        assert verdict(bare + end, code) != "yes" or text.endswith("why not?")


@pytest.mark.parametrize("text", NO)
def test_no(text: str) -> None:
    assert verdict(text) == "no"


@pytest.mark.parametrize("text", DOUBT)
def test_what_says_nothing_else_is_in_doubt(text: str) -> None:
    assert verdict(text) == "doubt"


@pytest.mark.parametrize("text", OTHER)
def test_what_says_something_else(text: str) -> None:
    assert verdict(text) == "other"


def test_a_named_deed_counts_where_one_of_its_kind_was_asked_for() -> None:
    order = "Shall I order two pizzas?"
    assert explicit_yes("Place the order.", question=order)
    assert explicit_yes("Yes, order it, please.", question=order)
    assert not explicit_yes("Book it.", question=order)
    undoing = "Shall I cancel your order?"
    assert not explicit_yes("Place the order.", question=undoing)
    assert explicit_yes("Yes.", question=undoing)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Ja, machen wir.", "yes"),
        ("de-AT", "Ja, aber um neun.", "other"),
        ("de", "Nein, lieber nicht.", "no"),
        ("de", "Kein Problem, das passt.", "yes"),
        ("fr", "Oui, d’accord.", "yes"),
        ("fr", "Non merci.", "no"),
        ("es", "Sí, por favor.", "yes"),
        ("es", "si", "yes"),
        ("it", "Va bene.", "yes"),
        ("nl", "Ja graag.", "yes"),
        ("pt", "Não.", "no"),
    ],
)
def test_other_languages(language: str, text: str, expected: str) -> None:
    assert verdict(text, language) == expected


def test_a_language_without_a_list_never_agrees() -> None:
    assert not knows("xx")
    assert verdict("yes ja oui", "xx") == "other"
    assert knows("pt-BR")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_counts_as_what_it_is_listed_as(language: str) -> None:
    lists = yes_words(language)
    assert lists is not None
    for phrase in lists.yes:
        assert verdict(" ".join(phrase), language) == "yes", phrase
    for phrase in lists.no | lists.hedge:
        assert verdict(" ".join(phrase), language) != "yes", phrase


@given(st.text(max_size=60), st.sampled_from(LANGUAGES))
def test_any_text_can_be_judged(text: str, language: str) -> None:
    assert verdict(text, language) in ("yes", "no", "doubt", "other")
    assert verdict(text, language) != "yes" or words_of(text)
