"""The workshop's free times and bookings."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agents.workshop.tools import (
    BAYS,
    book,
    clock,
    find_times,
    likely_name,
    minutes,
    opening_hours,
    resolve,
    say_day,
)
from gateway.agents.library import AgentLibrary, shipped
from gateway.events import CallInfo, Json
from gateway.tools.context import ToolContext, ToolFailed
from gateway.tools.functions import function_tool
from gateway.tools.store import Store

TUESDAY = date(2025, 12, 2)
HOURS = AgentLibrary(shipped()).get("workshop").file.hours


class Workshop:
    """The tools with a store of their own."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "w.sqlite")

    def context(self, call: str = "c1", key: str = "k", day: date = TUESDAY) -> ToolContext:
        began = datetime(day.year, day.month, day.day, 10, tzinfo=ZoneInfo(HOURS.timezone))
        return ToolContext(CallInfo(call, "test", "workshop", "+1555"), began, HOURS, key=key)

    def find(self, today: date = TUESDAY, **wish: str) -> Json:
        tool = function_tool(find_times)
        return asyncio.run(tool.run(wish, self.context(day=today), self.store))

    def book(self, day: str, time: str, call: str = "c1", key: str = "") -> Json:
        arguments = {"day": day, "time": time, "name": "Miller"}
        context = self.context(call, key or f"{call} {day} {time}")
        return asyncio.run(function_tool(book).run(arguments, context, self.store))

    def rows(self) -> list[tuple[str, str, str]]:
        with closing(sqlite3.connect(self.store.path)) as store:
            return store.execute("select call, day, time from bookings order by id").fetchall()


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_the_first_opening_is_two_days_on(workshop: Workshop) -> None:
    found = workshop.find()
    assert (found["date"], found["time"], found["say"]) == (
        "2025-12-04",
        "08:00",
        "Thursday at 8 a.m.",
    )
    assert found["others"][0] == "09:00"
    assert found["others"][-1] == "17:00"  # an hour before closing
    assert found["note"] == ""


@pytest.mark.parametrize(
    ("wish", "say", "note"),
    [
        ({"earliest": "08:00", "latest": "10:00", "prefer": "early"}, "Thursday at 8 a.m.", ""),
        ({"earliest": "08:00", "latest": "10:00", "prefer": "late"}, "Thursday at 10 a.m.", ""),
        ({"earliest": "15:30", "latest": "15:30"}, "Thursday at 3 p.m.", ""),
        ({"earliest": "13:00", "latest": "23:59"}, "Thursday at 1 p.m.", ""),
        ({"day": "friday"}, "Friday at 8 a.m.", ""),
        ({"day": "sunday"}, "Monday at 8 a.m.", "We're closed on Sunday."),
        ({"day": "tomorrow"}, "Thursday at 8 a.m.", "The first appointments are on Thursday."),
        ({"day": "saturday", "earliest": "15:00"}, "Saturday at noon", "I have nothing free then."),
        (
            {"earliest": "19:00", "latest": "21:00"},
            "Thursday at 5 p.m.",
            "I have nothing free then.",
        ),
        ({"day": "+14"}, "Tuesday, December 16 at 8 a.m.", ""),
        ({"day": "gibberish", "earliest": "late"}, "Thursday at 8 a.m.", ""),
    ],
)
def test_wishes(workshop: Workshop, wish: dict[str, str], say: str, note: str) -> None:
    found = workshop.find(**wish)
    assert (found["say"], found["note"]) == (say, note)


def test_what_is_booked_is_not_free_when_every_bay_is_taken(workshop: Workshop) -> None:
    for n in range(BAYS):
        assert workshop.find()["time"] == "08:00"
        workshop.book("2025-12-04", "08:00", call=f"c{n}")
    assert workshop.find()["time"] == "09:00"
    with pytest.raises(ToolFailed) as failed:
        workshop.book("2025-12-04", "08:00", call="another")
    assert failed.value.code == "taken"


def test_a_second_booking_of_a_call_takes_the_place_of_the_first(workshop: Workshop) -> None:
    assert workshop.book("2025-12-04", "08:00")["moved"] is False
    assert workshop.book("2025-12-05", "09:00")["moved"] is True
    assert workshop.rows() == [("c1", "2025-12-05", "09:00")]


def test_a_move_that_fails_leaves_the_booking_as_it_was(workshop: Workshop) -> None:
    workshop.book("2025-12-04", "08:00")
    with pytest.raises(ToolFailed):
        workshop.book("2025-12-04", "03:00")
    assert workshop.rows() == [("c1", "2025-12-04", "08:00")]


def test_the_same_deed_is_done_once(workshop: Workshop) -> None:
    first = workshop.book("2025-12-04", "08:00", key="same")
    assert workshop.book("2025-12-04", "08:00", key="same") == {**first, "repeated": True}
    assert len(workshop.rows()) == 1


@pytest.mark.parametrize("day", ["thursday", "2025-13-01", ""])
def test_a_booking_needs_a_date(workshop: Workshop, day: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        workshop.book(day, "08:00")
    assert failed.value.code == "bad_arguments"


def test_there_is_an_opening_on_every_day_of_the_year(workshop: Workshop) -> None:
    for ahead in range(0, 366, 5):
        day = TUESDAY + timedelta(days=ahead)
        found = workshop.find(day)
        assert date.fromisoformat(found["date"]) >= day + timedelta(days=2)


def test_opening_hours_are_said(workshop: Workshop) -> None:
    tool = function_tool(opening_hours)
    said = asyncio.run(tool.run({}, workshop.context(), workshop.store))
    assert said == {
        "say": "We're open Monday to Friday from 7:30 a.m. to 6 p.m. "
        "and Saturday from 8 a.m. to 1 p.m.",
        "open_now": True,
    }


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("+0", date(2025, 12, 2)),
        ("+2", date(2025, 12, 4)),
        ("tomorrow", date(2025, 12, 3)),
        ("Thursday", date(2025, 12, 4)),
        ("next thursday", date(2025, 12, 4)),
        ("tuesday", date(2025, 12, 9)),
        ("next week", date(2025, 12, 8)),
        ("2025-12-24", date(2025, 12, 24)),
        ("first", None),
        ("", None),
    ],
)
def test_days_are_resolved_from_the_day_of_the_call(day: str, expected: date | None) -> None:
    assert resolve(day, TUESDAY) == expected


def test_days_in_words() -> None:
    said = [say_day(TUESDAY + timedelta(days=ahead), TUESDAY) for ahead in (0, 1, 2, 6, 7)]
    assert said == ["today", "tomorrow", "Thursday", "Monday", "Tuesday, December 9"]


def test_clock_times_there_and_back() -> None:
    for text in ("00:00", "08:30", "23:59"):
        assert clock(minutes(text, -1)) == text
    assert minutes("soon", 7) == 7


@pytest.mark.parametrize(
    ("heard", "spelled", "name"),
    [
        ("Siciliy", "CILLE", "Siciliy"),
        ("City", "SITILLE", "Sitille"),
        ("Smyth", "SMITH", "Smith"),
        ("Miller", "MILER", "Miler"),
        ("Miller", "XQ", "Miller"),
        ("", "ADAMS", "Adams"),
        ("Adams", "", "Adams"),
    ],
)
def test_the_likelier_name(heard: str, spelled: str, name: str) -> None:
    assert likely_name(heard, spelled) == name
