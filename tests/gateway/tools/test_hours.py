"""Opening hours: what they are on a day, at a moment, and in words."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from gateway.tools.hours import OpeningHours, Span, say_spans, say_time

WEEK = OpeningHours(
    "Europe/Berlin",
    *["07:30-12:00, 13:00-18:00"] * 4,
    "07:30-16:00",
    "08:00-13:00",
    closed=(date(2025, 12, 25),),
)


def test_a_day_has_its_spans_unless_it_is_closed() -> None:
    assert WEEK.on(date(2025, 12, 24)) == (Span(450, 720), Span(780, 1080))
    assert WEEK.on(date(2025, 12, 25)) == ()
    assert WEEK.on(date(2025, 12, 28)) == ()


def test_it_is_open_by_its_own_clock() -> None:
    assert WEEK.open_at(datetime(2025, 12, 1, 6, 30, tzinfo=UTC))  # 7:30 in Berlin
    assert not WEEK.open_at(datetime(2025, 12, 1, 6, 29, tzinfo=UTC))
    assert not WEEK.open_at(datetime(2025, 12, 1, 11, 0, tzinfo=UTC))  # noon: lunch
    assert WEEK.open_at(datetime(2025, 7, 1, 5, 30, tzinfo=UTC))  # in summer time


def test_the_week_in_words_joins_equal_days() -> None:
    assert WEEK.say() == (
        "Monday to Thursday from 7:30 a.m. to noon and from 1 p.m. to 6 p.m., "
        "Friday from 7:30 a.m. to 4 p.m. and Saturday from 8 a.m. to 1 p.m."
    )
    assert OpeningHours(sunday="10:00-11:00").say() == "Sunday from 10 a.m. to 11 a.m."
    assert OpeningHours().say() == ""


@pytest.mark.parametrize(
    ("minutes", "said"),
    [(0, "12 a.m."), (450, "7:30 a.m."), (720, "noon"), (780, "1 p.m."), (1440, "12 a.m.")],
)
def test_times_in_words(minutes: int, said: str) -> None:
    assert say_time(minutes) == said


def test_spans_in_words() -> None:
    assert say_spans([Span(480, 720)]) == "from 8 a.m. to noon"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"monday": "8-18"}, 'monday must be like "07:30-18:00", found "8-18"'),
        ({"friday": "18:00-08:00"}, "friday must end after it begins"),
        ({"timezone": "Berlin"}, 'there is no time zone "Berlin"'),
    ],
)
def test_what_is_wrong_is_refused(wrong: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OpeningHours(**wrong)  # type: ignore[arg-type]
