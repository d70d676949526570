"""When a place is open: by weekday, without the days it is closed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_SPAN = re.compile(r"(\d{1,2}):(\d\d)\s*-\s*(\d{1,2}):(\d\d)")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a day, in minutes after midnight."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OpeningHours:
    """A week, as an agent's file has it: `monday = "07:30-12:00, 13:00-18:00"`; empty is closed."""

    timezone: str = "UTC"
    "IANA name, as in `Europe/Berlin`"
    monday: str = ""
    tuesday: str = ""
    wednesday: str = ""
    thursday: str = ""
    friday: str = ""
    saturday: str = ""
    sunday: str = ""
    closed: tuple[date, ...] = field(default_factory=tuple)
    "days that are not as their weekday is"

    def __post_init__(self) -> None:
        for name in WEEKDAYS:
            spans(getattr(self, name.lower()), name.lower())
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError(f'there is no time zone "{self.timezone}"') from None

    def week(self) -> tuple[tuple[Span, ...], ...]:
        """Return the seven days, from Monday."""
        return tuple(spans(getattr(self, name.lower()), name) for name in WEEKDAYS)

    def on(self, day: date) -> tuple[Span, ...]:
        """Return the hours of a date; nothing when it is closed."""
        return () if day in self.closed else self.week()[day.weekday()]

    def open_at(self, moment: datetime) -> bool:
        """Return whether it is open at a moment (with its time zone)."""
        local = moment.astimezone(ZoneInfo(self.timezone))
        minutes = local.hour * 60 + local.minute
        return any(span.start <= minutes < span.end for span in self.on(local.date()))

    def say(self) -> str:
        """Say the week, days with the same hours together."""
        groups: list[tuple[int, int, tuple[Span, ...]]] = []
        for at, day in enumerate(self.week()):
            if groups and groups[-1][2] == day:
                groups[-1] = (groups[-1][0], at, day)
            else:
                groups.append((at, at, day))
        return join(
            [f"{_days(first, last)} {say_spans(day)}" for first, last, day in groups if day]
        )


def spans(text: str, name: str) -> tuple[Span, ...]:
    """Parse the hours of a day; raise ValueError."""
    found = []
    for part in text.split(",") if text.strip() else ():
        match = _SPAN.fullmatch(part.strip())
        if match is None:
            raise ValueError(f'{name} must be like "07:30-18:00", found "{text}"')
        start = int(match[1]) * 60 + int(match[2])
        end = int(match[3]) * 60 + int(match[4])
        if not start < end <= 24 * 60:
            raise ValueError(f'{name} must end after it begins, found "{text}"')
        found.append(Span(start, end))
    return tuple(found)


def say_spans(day: Sequence[Span]) -> str:
    """Say a day's hours: `from 8 a.m. to 6 p.m.`."""
    return join([f"from {say_time(span.start)} to {say_time(span.end)}" for span in day])


def say_time(minutes: int) -> str:
    """Say a time of day: `8 a.m.`, `noon`, `7:30 p.m.`."""
    if minutes == 12 * 60:
        return "noon"
    hour, minute = divmod(minutes, 60)
    half = "a.m." if hour < 12 or hour == 24 else "p.m."
    shown = (hour + 11) % 12 + 1
    return f"{shown}:{minute:02d} {half}" if minute else f"{shown} {half}"


def clock_time(minutes: int) -> time:
    """Make a clock time of minutes after midnight."""
    return time(minutes // 60, minutes % 60)


def join(parts: Sequence[str]) -> str:
    """Join with commas and an `and`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _days(first: int, last: int) -> str:
    return WEEKDAYS[first] if first == last else f"{WEEKDAYS[first]} to {WEEKDAYS[last]}"
