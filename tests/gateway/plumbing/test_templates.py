"""Texts with gaps."""

from __future__ import annotations

import pytest

from gateway.plumbing.templates import holds, render, value

KNOWN = {
    "name": "Jack",
    "year": 2018,
    "car": {"value": "Tesla", "known": ""},
    "time": {"earliest": "08:00"},
    "found": {"say": "Thursday at 8 a.m.", "note": ""},
    "empty": "",
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hello {name}.", "Hello Jack."),
        ("Hello[, {name}]. Hello[, {nobody}].", "Hello, Jack. Hello."),
        ("[A {year} {nothing}|A {car}], right?", "A Tesla, right?"),
        ("[{nothing}|] Yes.", "Yes."),
        ("[{found.note} ]I have {found.say}. Good?", "I have Thursday at 8 a.m. Good?"),
        ("It's {nobody}.", "It's."),
        ("[I'm sorry about {car.known}.|Of course.]", "Of course."),
        ("Wait...", "Wait..."),
    ],
)
def test_texts(text: str, said: str) -> None:
    assert render(text, KNOWN) == said


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{year}", 2018),
        ("{car}", "Tesla"),
        ("{time.earliest}", "08:00"),
        ("{time.latest}", None),
        ("{empty}", None),
        ("{name} {car}", "Jack Tesla"),
        ("{name} {nothing}", None),
        ("[{nothing}: {name}|{name}]", "Jack"),
        ("fixed", "fixed"),
    ],
)
def test_values_for_tools(template: str, expected: object) -> None:
    assert value(template, KNOWN) == expected


@pytest.mark.parametrize(
    ("condition", "so"),
    [
        ("name", True),
        ("!name", False),
        ("nobody", False),
        ("!nobody", True),
        ("empty", False),
        ("name=Jack", True),
        ("!name=Jack", False),
        ("car=Tesla", True),
        ("found.say=x", False),
    ],
)
def test_conditions(condition: str, so: bool) -> None:
    assert holds(condition, KNOWN) is so
