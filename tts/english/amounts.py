"""Numbers that count something in English: money, measures, shares, ranks, years."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tts.english import numbers
from tts.english.tables import FRACTIONS, MONEY, MULTIPLES, TOUCHING, UNITS, either
from tts.normalise import Part, Rule

NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_SIGN = r"(?:(?<![\w)])[-−+])?"
"""A sign before a number, and not a dash between two."""


def _is_one(written: str) -> bool:
    return written == "1"


def _amount(number: str, multiple: str, currency: str) -> str:
    """Say an amount of money."""
    one, many, cent, cents = MONEY[currency]
    if multiple:
        return f"{numbers.plain(number)} {MULTIPLES[multiple]} {many}"
    whole, _, rest = number.replace(",", "").partition(".")
    if not rest or len(rest) != 2 or not cent:
        return f"{numbers.plain(number)} {one if _is_one(number) else many}"
    parts = []
    if int(whole) or not int(rest):
        parts.append(f"{numbers.cardinal(int(whole))} {one if int(whole) == 1 else many}")
    if int(rest):
        parts.append(f"{numbers.cardinal(int(rest))} {cent if int(rest) == 1 else cents}")
    return " and ".join(parts)


def _money_before(match: re.Match[str]) -> Sequence[Part]:
    """`$1,249.50`, `$5 million`, `-$3`."""
    said = _amount(match[3], match[4] or "", match[2])
    return [Part(match.end(), f"minus {said}" if match[1] else said)]


def _money_after(match: re.Match[str]) -> Sequence[Part]:
    """`20 €`, `20 USD`."""
    return [Part(match.end(), _amount(match[1], "", match[2]))]


def _cents(match: re.Match[str]) -> Sequence[Part]:
    return [
        Part(match.end(), f"{numbers.plain(match[1])} {'cent' if match[1] == '1' else 'cents'}")
    ]


def _percent(match: re.Match[str]) -> Sequence[Part]:
    return [Part(match.end(), f"{numbers.plain(match[1])} percent")]


def _degrees(match: re.Match[str]) -> Sequence[Part]:
    scale = {"C": " Celsius", "F": " Fahrenheit"}.get(match[2] or "", "")
    degrees = "degree" if _is_one(match[1]) else "degrees"
    return [Part(match.end(), f"{numbers.plain(match[1])} {degrees}{scale}")]


def _measure(match: re.Match[str]) -> Sequence[Part] | None:
    number, space, unit = match[1], match[2], match[3]
    if space and unit in TOUCHING:
        return None
    one, many = UNITS[unit]
    end = match.end(1)
    return [Part(end, numbers.plain(number)), Part(match.end(), one if _is_one(number) else many)]


def _rank(match: re.Match[str]) -> Sequence[Part]:
    return [Part(match.end(), numbers.ordinal(int(match[1].replace(",", ""))))]


def _decade(match: re.Match[str]) -> Sequence[Part]:
    if match[1]:
        return [Part(match.end(), numbers.decade(int(match[1])))]
    return [Part(match.end(), f"{numbers.cardinal(int(match[2]))[:-1]}ies")]


def _year(match: re.Match[str]) -> Sequence[Part]:
    return [Part(match.end(), numbers.year(int(match[0])))]


def _fraction(match: re.Match[str]) -> Sequence[Part] | None:
    said = FRACTIONS.get(match[0])
    return [Part(match.end(), said)] if said else None


def _mixed(match: re.Match[str]) -> Sequence[Part]:
    """`2 1/2` and `2½`."""
    fraction = FRACTIONS[match[2]]
    if not match[1]:
        return [Part(match.end(), fraction)]
    return [
        Part(match.end(1), f"{numbers.plain(match[1])} and"),
        Part(match.end(), fraction.replace("one ", "a ", 1)),
    ]


def _number(match: re.Match[str]) -> Sequence[Part]:
    return [Part(match.end(), numbers.plain(match[0]))]


def _times(match: re.Match[str]) -> Sequence[Part]:
    """`2x`, `4 x 4`."""
    return [
        Part(match.end(1), numbers.plain(match[1])),
        Part(match.end(2), "by" if match[3] else "times"),
    ]


def _hash(match: re.Match[str]) -> Sequence[Part]:
    return [Part(match.end(), "number")]


def _multiple(match: re.Match[str]) -> Sequence[Part]:
    return [Part(match.end(), f"{numbers.plain(match[1])} {MULTIPLES[match[2]]}")]


RULES = (
    Rule(
        re.compile(
            rf"([-−])?({either(MONEY)})\s?({NUMBER})(?:\s?({either(MULTIPLES)})(?!\w))?(?![0-9])"
        ),
        _money_before,
    ),
    Rule(re.compile(rf"({NUMBER})\s?({either(MONEY)})(?!\w)"), _money_after),
    Rule(re.compile(rf"({NUMBER})\s?¢"), _cents),
    Rule(re.compile(rf"({_SIGN}{NUMBER})\s?%"), _percent),
    Rule(re.compile(rf"({_SIGN}{NUMBER})\s?[°º]\s?(?:([CF])(?!\w))?"), _degrees),
    Rule(re.compile(r"([12][0-9]{2}0)['’]?s(?!\w)|['’]([2-9]0)s(?!\w)"), _decade),
    Rule(re.compile(rf"({_SIGN}{NUMBER})(\s?)({either(UNITS)})(?![\w/])"), _measure),
    Rule(re.compile(r"([0-9]{1,3}(?:,?[0-9]{3})*)(?:st|nd|rd|th)(?!\w)"), _rank),
    Rule(re.compile(r"([0-9]{1,2})/([0-9]{1,2})(?![\w/])"), _fraction),
    Rule(re.compile(rf"({NUMBER})?\s?([½⅓⅔¼¾⅛])"), _mixed),
    Rule(re.compile(rf"({NUMBER})\s?([x×])(?:(?!\w)|\s?(?=([0-9])))"), _times),
    Rule(re.compile(rf"({NUMBER})\s?(k|K|bn|million|billion|trillion|thousand)(?!\w)"), _multiple),
    Rule(re.compile(r"#(?=\s?[0-9])"), _hash),
)

PLAIN = (
    Rule(re.compile(r"(?:19|20)[0-9]{2}(?![\w%]|[.,][0-9])"), _year),
    Rule(re.compile(rf"{_SIGN}{NUMBER}(?:\.[0-9]+)*(?!\w)"), _number),
    # What no rule knew (`4you`): the number, then the rest.
    Rule(re.compile(r"[0-9]+"), _number),
)
