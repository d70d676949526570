"""What is a yes, what is a no, and what is neither."""

from __future__ import annotations

import pytest

from turn.consent import LISTS, explicit_yes, knows, verdict

YES = [
    "Yes.",
    "Um, yeah, so let's do it.",
    "And yeah, I'll see what I do it.",
    "And yeah, that's what I do it.",
    "All right. Sounds great.",
    "No problem, that's fine.",
    "Sure, why not?",
    "Yes. What should I bring?",
    "Yes, if you could.",
    "8 a.m. is good.",
    "Okay.",
]
NO = [
    "No.",
    "Nope, not yet.",
    "Yeah, no.",
    "No, that's fine.",
    "Uh, I don't think so, I think that's it. You've been great.",
    "I don't think so. And the bit isn't great.",
    "Never mind.",
]
UNCLEAR = [
    "Yes, but make it nine.",
    "Okay, what time was that?",
    "Wait.",
    "I think so.",
    "Yes, I don't have another day.",
    "No, yeah.",
    "I'm not sure.",
    "Uh-huh.",
    "Friday at nine.",
    "",
    "Yesterday.",
    "Maybe, yes.",
]


@pytest.mark.parametrize("text", YES)
def test_yes(text: str) -> None:
    assert verdict(text) == "yes"
    assert explicit_yes(text)


@pytest.mark.parametrize("text", NO)
def test_no(text: str) -> None:
    assert verdict(text) == "no"


@pytest.mark.parametrize("text", UNCLEAR)
def test_neither(text: str) -> None:
    assert verdict(text) == "unclear"


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Ja, machen wir.", "yes"),
        ("de-AT", "Ja, aber um neun.", "unclear"),
        ("de", "Nein, lieber nicht.", "no"),
        ("de", "Kein Problem, passt.", "yes"),
        ("fr", "Oui, d’accord.", "yes"),
        ("fr", "Non merci.", "no"),
        ("es", "Sí, por favor.", "yes"),
        ("it", "Va bene.", "yes"),
        ("nl", "Ja graag.", "yes"),
        ("pt", "Não.", "no"),
    ],
)
def test_other_languages(language: str, text: str, expected: str) -> None:
    assert verdict(text, language) == expected


def test_a_language_without_a_list_never_agrees() -> None:
    assert not knows("xx")
    assert verdict("yes ja oui", "xx") == "unclear"
    assert knows("pt-BR")


@pytest.mark.parametrize("language", LISTS)
def test_every_phrase_is_as_words_are_compared(language: str) -> None:
    lists = LISTS[language]
    for phrases in (lists.yes, lists.mild, lists.no, lists.doubt, lists.questions):
        for phrase in phrases:
            assert phrase == phrase.lower()
            assert "'" not in phrase
    for phrase in lists.yes:
        assert verdict(phrase, language) == "yes", phrase
    for phrase in lists.no:
        assert verdict(phrase, language) != "yes", phrase
