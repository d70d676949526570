"""Times, days and dates in English."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tts.english import numbers
from tts.english.tables import ALSO_WORDS, DAYS, MONTHS, either
from tts.english.words import ends_sentence
from tts.normalise import Part, Rule

NAMES = tuple(dict.fromkeys(MONTHS.values()))

_DAY = either(DAYS)
_ANY_DAY = rf"(?:(?:{either([*DAYS.values(), *DAYS])})s?\.?)"
_MONTH = either([*NAMES, *MONTHS])

_HOURS_BEFORE = re.compile(
    rf"(?:\b(?:{_ANY_DAY})|\b(?:open|opens|hours|from|between)\b)[^.!?\d]{{0,25}}$", re.IGNORECASE
)
"""What says that the numbers after it are hours of the day."""

_DAY_BESIDE = re.compile(rf"\.?\s*(?:[-–,/&]|to|and|or)\s*(?:{_ANY_DAY})\b|\.?,?\s*\d")
_DAY_BEFORE = re.compile(rf"\b(?:{_ANY_DAY})\s*(?:[-–,/&]|to|and|or)\s*$")


def _hour(hour: int, minute: int, half: str) -> str:
    """Say a time of day; from 13:00 on, and at midnight, with its half of the day."""
    if not half and (hour > 12 or hour == 0):
        half = "P.M." if hour >= 12 and hour != 24 else "A.M."
    shown = numbers.cardinal(hour % 12 or 12)
    if minute == 0:
        return f"{shown} {half}" if half else f"{shown} o'clock"
    minutes = numbers.cardinal(minute)
    said = f"{shown} {'oh ' if minute < 10 else ''}{minutes}"
    return f"{said} {half}" if half else said


def _time(match: re.Match[str]) -> Sequence[Part] | None:
    """`10:30`, `8 a.m.`, `17:05`."""
    hour, minute = int(match[1]), int(match[2] or 0)
    if hour > 24 or minute > 59:
        return None
    half = ""
    if match[3]:
        if hour > 12 or hour == 0:
            return None
        half = f"{match[3].upper()}.M."
    pause = "." if match[0].endswith(".") and ends_sentence(match) else ""
    return [Part(match.end(), _hour(hour, minute, half), pause)]


def _between(match: re.Match[str]) -> Sequence[Part]:
    """The dash of `9am-5pm` and of `Mon-Fri`."""
    return [Part(match.end(), "to")]


def _hours(match: re.Match[str]) -> Sequence[Part] | None:
    """`9-17` where something says that these are hours."""
    first, last = int(match[1]), int(match[2])
    if not first < 13 <= last <= 24 or not _HOURS_BEFORE.search(match.string[: match.start()]):
        return None
    return [
        Part(match.end(1), _hour(first, 0, "A.M.")),
        Part(match.start(2), "to"),
        Part(match.end(2), _hour(last, 0, "")),
    ]


def _day(match: re.Match[str]) -> Sequence[Part] | None:
    """`Mon`, `Fri.`; `Sun` only where it is a day."""
    if match[1] in ALSO_WORDS:
        beside = _DAY_BESIDE.match(match.string, match.end(1))
        before = _DAY_BEFORE.search(match.string[: match.start()])
        if not beside and not before:
            return None
    pause = "." if match[0].endswith(".") and ends_sentence(match) else ""
    return [Part(match.end(), DAYS[match[1]], pause)]


def _month_name(written: str) -> str:
    return MONTHS.get(written[:3].title(), written)


def _month_day(match: re.Match[str]) -> Sequence[Part] | None:
    """`March 4`, `Mar. 4th`; the year after it is a number of its own."""
    day = int(match[2])
    if not 1 <= day <= 31:
        return None
    return [
        Part(match.start(2), _month_name(match[1])),
        Part(match.end(), numbers.ordinal(day)),
    ]


def _day_month(match: re.Match[str]) -> Sequence[Part] | None:
    """`4 March`, `4th of March`."""
    day = int(match[1])
    if not 1 <= day <= 31:
        return None
    the = "" if match.string[: match.start()].rstrip().lower().endswith("the") else "the "
    return [
        Part(match.end(1), the + numbers.ordinal(day)),
        Part(match.end(), f"of {_month_name(match[2])}"),
    ]


def _month_alone(match: re.Match[str]) -> Sequence[Part]:
    return [Part(match.end(), MONTHS[match[1]], "." if ends_sentence(match) else "")]


def _written_date(match: re.Match[str], year: str, month: str, day: str) -> Sequence[Part] | None:
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return None
    said = f"{NAMES[int(month) - 1]} {numbers.ordinal(int(day))}"
    if year:
        whole = int(year) if len(year) == 4 else 2000 + int(year)
        said += f" {numbers.year(whole)}"
    return [Part(match.end(), said)]


def _iso_date(match: re.Match[str]) -> Sequence[Part] | None:
    """`2026-03-04`."""
    return _written_date(match, match[1], match[2], match[3])


def _slash_date(match: re.Match[str]) -> Sequence[Part] | None:
    """`3/14/2026`, the American way, unless only the other one can be."""
    month, day = match[1], match[2]
    if int(month) > 12:
        month, day = day, month
    return _written_date(match, match[3], month, day)


def _dot_date(match: re.Match[str]) -> Sequence[Part] | None:
    """`14.03.2026`, which is never American."""
    return _written_date(match, match[3], match[2], match[1])


_HALF = r"\s?([AaPp])(?:\.\s?[Mm]\.|[Mm]\.?)(?![\w])"

DATES = (
    Rule(re.compile(r"([12][0-9]{3})-([01]?[0-9])-([0-3]?[0-9])(?![\w-])"), _iso_date),
    Rule(re.compile(r"([0-9]{1,2})/([0-9]{1,2})/((?:[12][0-9])?[0-9]{2})(?![\w/])"), _slash_date),
    Rule(re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([12][0-9]{3})(?![\w.]\w)"), _dot_date),
)

RULES = (
    Rule(re.compile(rf"([0-9]{{1,2}})(?:[:.]([0-9]{{2}}))?{_HALF}"), _time),
    Rule(re.compile(r"([0-9]{1,2}):([0-9]{2})(?::[0-9]{2})?()(?![\w:])"), _time),
    Rule(re.compile(r"([0-9]{1,2})\s?[-–—]\s?([0-9]{1,2})(?![\w%]|[-–.,:/]\w)"), _hours),
    Rule(re.compile(r"(?<=[0-9mM%.])\s?[-–—]\s?(?=[$€£]?[0-9])"), _between),
    Rule(re.compile(rf"(?:(?<=[a-z])|(?<=\.))\s?[-–—]\s?(?=(?:{_ANY_DAY})(?!\w))"), _between),
    Rule(
        re.compile(rf"({_MONTH})\.?\s+([0-9]{{1,2}})(?:st|nd|rd|th)?(?![\w:]|[.,][0-9])"),
        _month_day,
    ),
    Rule(
        re.compile(rf"([0-9]{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})(?!\w)\.?"),
        _day_month,
    ),
    Rule(re.compile(rf"({either(MONTHS.keys() - {'Mar', 'May'})})\.(?!\w)"), _month_alone),
    Rule(re.compile(rf"({_DAY})(?!\w)\.?"), _day),
)
