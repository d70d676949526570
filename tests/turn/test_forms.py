"""What is dictated in groups: what is whole, what owes more, and what is no form at all."""

from __future__ import annotations

import pytest

from turn.forms import KINDS, asked_for, form, forms
from turn.words import lexicon

ENGLISH = lexicon("en"), forms("en")


def english(text: str, kind: str = "", length: int = 0) -> str:
    return form(text, kind, length, *ENGLISH)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Five.", "part"),
        ("Five, five, five.", "part"),
        ("617-555-01.", "part"),
        ("Q12.", "part"),
        ("It's four one-size.", "part"),
        ("617-555-0143", "whole"),
        ("It's 6 1 7, five five five, oh one four three", "whole"),
        ("six one seven triple five zero one double four", "whole"),
        ("six one seven, uh, five five five dash zero one forty three", "whole"),
        ("for one five too too six free ate won oh", "part"),  # begins with what is no digit
        ("four one five to too six free ate won oh", "whole"),
        ("1 617 555 014", "part"),
        ("1 617 555 0143", "whole"),
        ("My number is", "due"),
        ("Why do you need it?", "none"),
        ("No.", "none"),
        ("555 thank you", "none"),
    ],
)
def test_a_telephone_number(text: str, said: str) -> None:
    assert english(text, "phone") == said


def test_a_number_that_is_announced_is_a_telephone_number_though_nobody_asked() -> None:
    assert english("You can reach me at 617") == "part"
    assert english("You can reach me at 617 555 0143") == "whole"
    assert english("two one two") == "part"
    assert english("My order number is 4512") == "none"
    assert english("I'd like two") == "none"
    assert english("twelve") == "none"


@pytest.mark.parametrize(
    ("text", "length", "said"),
    [("4", 0, "part"), ("45", 0, "none"), ("451", 4, "part"), ("four five one two", 4, "whole")],
)
def test_a_number_of_a_length(text: str, length: int, said: str) -> None:
    assert english(text, "digits", length) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("S. M.", "part"),
        ("see oh double", "part"),
        ("B as in boy, A, U", "part"),
        ("Smith, S-M-I-T-H.", "whole"),
        ("Tomson, that's t-h-o-m-p-s-o-n.", "whole"),
        ("Garcia, G-A-R", "part"),
        ("Emsi.", "part"),
        ("I would rather not tell you that now", "due"),
        ("Yes.", "none"),
    ],
)
def test_a_spelling(text: str, said: str) -> None:
    assert english(text, "spelling") == said
    assert english("K O W", "spelling", 3) == "whole"


@pytest.mark.parametrize(
    ("text", "date", "birth"),
    [
        ("March", "part", "part"),
        ("March the fourteenth", "whole", "part"),
        ("the 14th of March", "whole", "part"),
        ("March 14th, 1985", "whole", "whole"),
        ("May the thirtieth nineteen sixty eight", "whole", "whole"),
        ("the third", "part", "part"),
        ("Tuesday would be fine", "none", "none"),
    ],
)
def test_a_date(text: str, date: str, birth: str) -> None:
    assert (english(text, "date"), english(text, "birth_date")) == (date, birth)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("42", "part"),
        ("42 Maple Street. Springfield.", "part"),
        ("42 Maple Street, Springfield, six two seven oh four", "whole"),
        ("60611", "part"),
        ("It's the old house by the river", "due"),
    ],
)
def test_an_address(text: str, said: str) -> None:
    assert english(text, "address") == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Anna", "part"),
        ("Anna underscore Miller at", "part"),
        ("p dot jones at hotmail", "part"),
        ("John.smith at gmail.com", "whole"),
        ("john@example.org.", "whole"),
        ("info at greenhouse dot org", "whole"),
    ],
)
def test_an_email(text: str, said: str) -> None:
    assert english(text, "email") == said


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What's your phone number?", "phone"),
        ("Could you spell that for me, please?", "spelling"),
        ("And your date of birth?", "birth_date"),
        ("What is the email address?", "email"),
        ("What's the zip code?", "digits"),
        ("How can I help you?", ""),
    ],
)
def test_a_question_names_what_it_asks_for(question: str, kind: str) -> None:
    assert asked_for(question, ENGLISH[1]) == kind


@pytest.mark.parametrize("language", ["de", "fr", "es", "pt", "it", "nl", "xx"])
def test_every_language_has_what_its_file_says(language: str) -> None:
    known = forms(language)
    assert set(known.asks) <= set(KINDS)
    assert form("", "phone", 0, lexicon(language), known) == "none"
    assert bool(known.months) == (language != "xx")


@pytest.mark.parametrize(
    ("language", "part", "whole"),
    [
        ("fr", "zéro six douze", "06 12 34 56 78"),
        ("es", "seis uno dos", "612 345 678"),
        ("nl", "nul zes", "06 12345678"),
    ],
)
def test_telephone_numbers_elsewhere(language: str, part: str, whole: str) -> None:
    lists, known = lexicon(language), forms(language)
    assert form(part, "phone", 0, lists, known) == "part"
    assert form(whole, "phone", 0, lists, known) == "whole"
