"""Moments that somebody asks for: a span back from now, or a time; written as log lines do."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta


def as_written(moment: datetime) -> str:
    """Write a time as log lines do, so that texts compare as times."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"


_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_moment(text: str, now: datetime) -> datetime:
    """Read `90m`, `2h`, `1d`, a date, or a date and time; raise ValueError.

    What names no zone is meant in the local one.
    """
    try:
        if span := _SPAN.fullmatch(text.strip()):
            return now - timedelta(**{_UNITS[span[2]]: float(span[1])})
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):  # OverflowError: before or after all calendars
        raise ValueError(
            f"found {text!r}, it must be a span like 90m, 2h or 1d, or a time like "
            f"2026-03-02 or 2026-03-02T14:00"
        ) from None
