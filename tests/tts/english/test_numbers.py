"""Numbers as words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tts.english.numbers import LARGEST, cardinal, decade, digits, ordinal, plain, year


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "zero"),
        (19, "nineteen"),
        (20, "twenty"),
        (101, "one hundred one"),
        (1249, "one thousand two hundred forty-nine"),
        (1_000_001, "one million one"),
        (-5, "minus five"),
    ],
)
def test_cardinals(number: int, said: str) -> None:
    assert cardinal(number) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "first"),
        (12, "twelfth"),
        (20, "twentieth"),
        (21, "twenty-first"),
        (100, "one hundredth"),
    ],
)
def test_ordinals(number: int, said: str) -> None:
    assert ordinal(number) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (2018, "twenty eighteen"),
        (2000, "two thousand"),
        (2005, "two thousand five"),
        (1905, "nineteen oh five"),
        (1900, "nineteen hundred"),
    ],
)
def test_years(number: int, said: str) -> None:
    assert year(number) == said


def test_decades() -> None:
    assert decade(1990) == "nineteen nineties"
    assert decade(2000) == "two thousands"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("1,249.50", "one thousand two hundred forty-nine point five zero"),
        ("007", "zero zero seven"),
        ("-3", "minus three"),
        ("2.0.1", "two point zero point one"),
    ],
)
def test_numbers_as_written(written: str, said: str) -> None:
    assert plain(written) == said


VALUES = {cardinal(number): number for number in [*range(20), *range(20, 100)]}
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}


def understand(said: str) -> int:
    """Turn words back into a number."""
    total = group = 0
    for word in said.split():
        if word == "hundred":
            group *= 100
        elif word in SCALES:
            total += group * SCALES[word]
            group = 0
        else:
            group += VALUES[word]
    return total + group


@given(st.integers(0, LARGEST - 1))
def test_every_number_can_be_understood(number: int) -> None:
    assert understand(cardinal(number)) == number


@given(st.integers(LARGEST, 10**40))
def test_what_nobody_could_follow_is_said_digit_by_digit(number: int) -> None:
    assert cardinal(number) == digits(str(number))
