"""Words are read for what they tell about the floor, in several languages, and never believed."""

from __future__ import annotations

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turn.words import Ending, Nod, distinct, lexicon, nod, plausible, read, split

EN = lexicon("en")


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("Is it possible that I could make the appointment for", "open"),
        ("My last name is", "open"),
        ("I'd like a coffee with,", "open"),
        ("Can you please tell me?", "open"),
        ("And I... And I...", "open"),
        ("I have a lot of your, um,", "filler"),
        ("Well, let me see.", "filler"),
        ("Sure.", "opener"),
        ("Oh, okay, yes.", "opener"),
        ("Yes, that would be great, thank you.", "closing"),
        ("Is there anything else I can help you with?", "plain"),
        ("I don't think so.", "plain"),
        ("I want to know when you could", "leaning"),
        ("I want a dark roast cappuccino.", "plain"),
        ("", "none"),
        ("...", "none"),
    ],
)
def test_how_a_text_ends(text: str, ending: Ending) -> None:
    assert read(text, EN).ending == ending


@pytest.mark.parametrize(
    ("text", "mark"),
    [("Is it?", "question"), ("It is.", "stop"), ("It is,", "comma"), ("It is...", "dangling")],
)
def test_how_a_text_is_marked(text: str, mark: str) -> None:
    assert read(text, EN).mark == mark


@pytest.mark.parametrize(
    ("text", "digits", "letters"),
    [
        ("It's four two five", 3, 0),
        ("It is 555 0 1", 5, 0),
        ("S-I-C-I-L", 0, 5),
        ("L-L-E.", 0, 3),
        ("four two is my number", 0, 0),
    ],
)
def test_runs_at_the_end(text: str, digits: int, letters: int) -> None:
    found = read(text, EN)
    assert (found.digits, found.letters) == (digits, letters)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Uh-huh.", "backchannel"),
        ("Okay, okay.", "backchannel"),
        ("Mm-hmm, all right.", "backchannel"),
        ("Um,", "hesitation"),
        ("Wait.", "claim"),
        ("No, the other one.", "claim"),
        ("Okay, but when?", "claim"),
        ("Make me a medium", "words"),
        ("", "none"),
    ],
)
def test_what_words_over_the_agent_want(text: str, wanted: Nod) -> None:
    assert nod(text, 1.0, EN) == wanted


def test_more_words_than_fit_are_garbled() -> None:
    invented = "The same thing is that the one who is in the house"
    assert not plausible(invented, 0.3)
    assert plausible(invented, 2.0)
    assert nod(invented, 0.3, EN) == "garbled"


def test_a_stuttering_recogniser_says_a_word_once() -> None:
    assert plausible("Play, play, play, play, play,", 0.3)
    assert nod("Okay, okay, okay, okay, okay, okay", 0.3, EN) == "backchannel"
    assert distinct("make me make me make me") == 2


@pytest.mark.parametrize(
    ("language", "unfinished", "finished", "nodding", "claiming"),
    [
        ("de-DE", "Ich hätte gern einen Termin für", "Ich hätte gern einen Termin.", "Ja, genau",
         "Moment, nein"),
        ("fr", "Je voudrais parler avec", "Je voudrais un rendez-vous.", "d'accord", "attendez"),
        ("es", "Me gustaría una cita para", "Quiero una cita mañana.", "ajá, vale", "espere"),
        ("pt-BR", "Eu queria marcar uma consulta para", "Quero marcar uma consulta.", "tá bom",
         "espera"),
        ("it", "Vorrei un appuntamento per", "Voglio un appuntamento domani.", "va bene, capisco",
         "aspetti"),
        ("nl", "Ik wil graag een afspraak voor", "Ik kom morgen langs.", "oké, prima", "wacht"),
    ],
)  # fmt: skip
def test_other_languages(
    language: str, unfinished: str, finished: str, nodding: str, claiming: str
) -> None:
    lists = lexicon(language)
    assert read(unfinished, lists).ending == "open"
    assert read(finished, lists).ending == "plain"
    assert nod(nodding, 1.0, lists) == "backchannel"
    assert nod(claiming, 1.0, lists) == "claim"


def test_a_language_without_lists_has_no_evidence() -> None:
    assert read("ja und", lexicon("xx")).ending == "plain"
    assert nod("okay", 1.0, lexicon("../en")) == "words"


def languages() -> list[Traversable]:
    folder = resources.files("turn") / "languages"
    return [file for file in folder.iterdir() if file.name.endswith(".toml")]


def test_entries_are_written_as_texts_are_split() -> None:
    for file in languages():
        found = tomllib.loads(file.read_text(encoding="utf-8"))
        for name, entries in found.items():
            if name in ("consent", "forms"):
                continue  # written as people read them; see test_consent
            assert len(entries) == len(set(entries)), f"{file.name}: {name} says something twice"
            for entry in entries:
                assert " ".join(split(entry)) == entry, f"{file.name}: {name}: {entry}"


@given(st.text(max_size=60), st.floats(0, 4))
def test_any_text_can_be_read(text: str, seconds: float) -> None:
    found = read(text, EN)
    assert (found.ending == "none") == (found.words == 0)
    assert (nod(text, seconds, EN) == "none") == (found.words == 0)
