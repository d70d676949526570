"""Numbers, names, letters, lists, days and times in callers' words."""

from __future__ import annotations

import pytest

from gateway.backends.cascade.models.script import numbers, people, times
from gateway.backends.cascade.models.script.choices import choices
from gateway.backends.cascade.models.script.words import words


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("Sure this one will say 2018 pestilop model s", 2018),
        ("Sure, this one will say 2000 and 18 TestSwap model S", 2018),
        ("Two thousand and eighteen.", 2018),
        ("a twenty eighteen", 2018),
        ("nineteen ninety-nine", 1999),
        ("twenty oh five", 2005),
        ("two thousand", 2000),
        ("twenty twenty four", 2024),
        ("I have had it two years", None),
        ("it has 4500 miles", None),
        ("eight to ten", None),
    ],
)
def test_years(text: str, year: int | None) -> None:
    assert numbers.year(words(text).norm) == year


def test_a_lone_number_is_a_year_when_a_year_was_asked_for() -> None:
    assert numbers.short_year(words("an eighteen").norm) == 2018
    assert numbers.short_year(words("a ninety nine").norm) == 1999
    assert numbers.short_year(words("no idea").norm) is None


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("five five five, oh one double two", "5550122"),
        ("It's 206-555-0123.", "2065550123"),
        ("two oh six five five five twelve thirty four", "2065551234"),
        ("eight hundred five five five one two one two", "8005551212"),
        ("triple five", "555"),
        ("I don't know", ""),
    ],
)
def test_digits(text: str, digits: str) -> None:
    assert numbers.digits(words(text).norm) == digits


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Sure. My last name is, uh, Siciliy.", "Siciliy"),
        ("Sure. My last name is a city.", "City"),
        ("My last name is Van Dyke.", "Van Dyke"),
        ("my last name is miller and I", "Miller"),
        ("My last name is", ""),
        ("My last name is on the card", ""),
        ("Miller", ""),
    ],
)
def test_names_after_their_announcement(text: str, name: str) -> None:
    assert people.led(words(text), ["my last name is"], 2) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Miller.", "Miller"),
        ("Uh, it's Miller.", "Miller"),
        ("That's Anna Schmidt", "Thats Anna"),
        ("Sure.", ""),
        ("Two weeks ago, I got a car from the Eater ship.", ""),
        ("I would like to speak with somebody about my car please", ""),
    ],
)
def test_bare_names(text: str, name: str) -> None:
    assert people.bare(words(text), 2) in (name, name.replace("Thats ", "That's "))


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("C I, L L E", "CILLE"),
        ("S-i-t-i-l-l-e.", "SITILLE"),
        ("L. L. E..", "LLE"),
        ("S as in Sam, M, I, T, H", "SMITH"),
        ("M for Mike, I, double L, E, R", "MILLER"),
        ("see eye el el ee", "CILLE"),
        ("Sierra India Charlie", "SIC"),
        ("double u o o d", "WOOD"),
        ("It's S I C I L L E", "SICILLE"),
        ("That's fine.", ""),
        ("Are you there", ""),
        ("okay", ""),
        ("A", ""),
    ],
)
def test_spellings(text: str, letters: str) -> None:
    assert people.spelled(words(text).norm) == letters


MAKES = choices(["Tesla = tessla, test la", "Toyota", "Mercedes = mercedes benz", "(any) = car"])


@pytest.mark.parametrize(
    ("text", "exact", "joined", "nearest"),
    [
        ("a Tesla please", "Tesla", "Tesla", "Tesla"),
        ("a test la", "Tesla", "Tesla", "Tesla"),
        ("the mercedes benz car", "Mercedes", "Mercedes", "Mercedes"),
        ("my car", "any", "any", None),
        ("toy ota", None, "Toyota", "Toyota"),
        ("a teslo", None, None, "Tesla"),
        ("a mersedes", None, None, "Mercedes"),
        ("a banana", None, None, None),
    ],
)
def test_lists(text: str, exact: str | None, joined: str | None, nearest: str | None) -> None:
    heard = words(text).norm
    found = [MAKES.exact(heard), MAKES.joined(heard), MAKES.nearest(heard)]
    assert [each.strip("()") if each else each for each in found] == [exact, joined, nearest]


def test_equally_near_values_are_no_choice() -> None:
    models = choices(["Model 3", "Model X", "Model Y"])
    assert models.nearest(words("a model").norm) is None


def test_only_telling_forms_are_distinct() -> None:
    models = choices(["Fit", "Corolla", "Model S = models, model s"])
    assert models.distinct(words("it will fit").norm) is None
    assert models.distinct(words("a corolla").norm) == "Corolla"
    assert models.distinct(words("test swap models").norm) == "Model S"


@pytest.mark.parametrize(
    ("text", "asked", "unasked"),
    [
        ("two days from now", "+2", "+2"),
        ("in three days", "+3", "+3"),
        ("a week from today", "+7", "+7"),
        ("two weeks ago I got a car", "", ""),
        ("tomorrow morning", "+1", "+1"),
        ("the day after tomorrow", "+2", "+2"),
        ("today", "+0", "+0"),
        ("I'm calling in today because", "+0", ""),
        ("Thursday", "thursday", "thursday"),
        ("on thurs", "thursday", ""),
        ("wensday", "wednesday", ""),
        ("next Monday", "next monday", "next monday"),
        ("sometime next week", "next week", "next week"),
        ("as soon as possible", "first", "first"),
        ("sunny and sat down", "", ""),
    ],
)
def test_days(text: str, asked: str, unasked: str) -> None:
    heard = words(text).norm
    assert times.day(heard, asked=True) == asked
    assert times.day(heard, asked=False) == unasked


@pytest.mark.parametrize(
    ("text", "asked", "unasked"),
    [
        ("Uh, eight to ten, earlier the better.", "08:00-10:00 early", "08:00-10:00 early"),
        ("Eight of ten earlier the better.", "08:00-10:00 early", "08:00-10:00 early"),
        ("8-10", "08:00-10:00", ""),
        ("eight two ten", "08:00-10:00", ""),
        ("between 3 and 5", "15:00-17:00", "15:00-17:00"),
        ("eleven to one", "11:00-13:00", ""),
        ("8 a.m.", "08:00-08:00", "08:00-08:00"),
        ("at nine", "09:00-09:00", ""),
        ("half past eight", "08:30-08:30", "08:30-08:30"),
        ("quarter to nine", "08:45-08:45", "08:45-08:45"),
        ("3:30 pm", "15:30-15:30", "15:30-15:30"),
        ("two in the afternoon", "14:00-14:00", "14:00-14:00"),
        ("after two", "14:00-23:59", ""),
        ("before ten", "00:00-10:00", ""),
        ("in the morning", "00:00-11:59", "00:00-11:59"),
        ("late afternoon", "15:00-23:59 late", "15:00-23:59 late"),
        ("noon", "12:00-12:00", "12:00-12:00"),
        ("any time", "any", ""),
        ("the earlier the better", "early", "early"),
        ("good morning, my car", "", ""),
        ("I have had it two years", "", ""),
        ("25 o'clock", "", ""),
    ],
)
def test_times(text: str, asked: str, unasked: str) -> None:
    def short(is_asked: bool) -> str:
        found = times.time_of_day(words(text).norm, asked=is_asked)
        span = f"{found['earliest']}-{found['latest']}" if "earliest" in found else ""
        return f"{span} {found.get('prefer', '')}".strip()

    assert short(True) == asked
    assert short(False) == unasked
