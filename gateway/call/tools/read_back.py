"""What is read back of a deed: the agent's sentence with the arguments in it, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from gateway.events import Json
from gateway.plumbing.templates import render, unfilled

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


def read_back(say: str, arguments: Json, language: str) -> str:
    """Make the question from the arguments; dates and times are said as people say them."""
    spoken: Mapping[str, object] = arguments
    if language.lower().startswith("en"):
        spoken = {name: _spoken(value) for name, value in arguments.items()}
    return render(say, spoken)


def missing(say: str, arguments: Json) -> tuple[str, ...]:
    """List what the question has a gap for and the arguments have not."""
    return unfilled(say, arguments)


def _spoken(value: object) -> object:
    """Say `2025-12-04` and `08:00` in English; give everything else as it is."""
    if not isinstance(value, str):
        return value
    if _DATE.fullmatch(value):
        try:
            day = date.fromisoformat(value)
        except ValueError:
            return value
        return f"{day:%A, %B} {day.day}"
    if clock := _TIME.fullmatch(value):
        hour, minute = int(clock[1]), clock[2]
        shown = f"{(hour + 11) % 12 + 1}" + (f":{minute}" if minute != "00" else "")
        return f"{shown} {'a.m.' if hour < 12 else 'p.m.'}"
    return value
