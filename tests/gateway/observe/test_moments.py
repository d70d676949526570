"""Moments that somebody asks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gateway.observe.moments import parse_moment

NOW = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90m", NOW - timedelta(minutes=90)),
        ("1.5 h", NOW - timedelta(hours=1.5)),
        ("2d", NOW - timedelta(days=2)),
        ("2026-03-01T10:00:00Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
    ],
)
def test_since_is_a_span_or_a_time(text: str, moment: datetime) -> None:
    assert parse_moment(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "5 parsecs", "-3h"])
def test_since_refuses_the_rest(text: str) -> None:
    with pytest.raises(ValueError, match="must be a span like 90m"):
        parse_moment(text, NOW)
