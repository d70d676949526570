"""The example agent's tools: a car workshop's opening hours, free times and bookings.

Everything counts from the day the call began, so that the same call on the same day with the same
bookings finds the same times.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import SequenceMatcher
from typing import Annotated, Literal

from msgspec import Meta

from gateway.events import Json
from gateway.tools.context import ToolContext, ToolFailed
from gateway.tools.functions import tool
from gateway.tools.hours import OpeningHours, clock_time, say_time

LEAD_DAYS = 2
"""Parts and a bay have to be planned, so that appointments begin this many days from the call."""

BAYS = 2
"""Cars that can be taken in at the same time."""

STEP = 60
"""Minutes between two appointments."""

LAST = 60
"""Minutes before closing after which no car is taken in."""

HORIZON = 60
"""Days ahead that can be booked."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_SCHEMA = """
create table if not exists bookings (
    id integer primary key,
    call text not null,
    day text not null,
    time text not null,
    name text not null,
    spelled text not null,
    car text not null,
    problem text not null,
    number text not null
)
"""

Day = Annotated[
    str,
    Meta(
        description="A date (2025-12-04), a weekday, `+2` for two days from now, `next week`, "
        "or empty for the first free one."
    ),
]
Clock = Annotated[str, Meta(description="A time of day as 08:30.")]
Text = Annotated[str, Meta(max_length=500)]


@dataclass(frozen=True, slots=True)
class Slot:
    """A time a car can be brought."""

    day: date
    minutes: int
    "after midnight"


@tool()
def opening_hours(context: ToolContext) -> Json:
    """Say when the workshop is open, and whether it is now."""
    open_now = context.hours.open_at(context.began)
    said = context.hours.say().rstrip(".")  # `p.m.` has its own
    return {"say": f"We're open {said}.", "open_now": open_now}


@tool(timeout=5.0)
def find_times(
    context: ToolContext,
    store: sqlite3.Connection,
    day: Day = "",
    earliest: Clock = "",
    latest: Clock = "",
    prefer: Annotated[
        Literal["", "early", "late", "any"], Meta(description="Which of the free times.")
    ] = "",
) -> Json:
    """Find a free appointment on a day, between two times, or the nearest to what was asked."""
    today = context.began.date()
    wanted = resolve(day, today)
    window = (minutes(earliest, 0), minutes(latest, 24 * 60))
    free = list(_free(store, context.hours, today))
    if not free:
        raise ToolFailed("full", "There is nothing free in the next two months.")
    first = free[0].day
    note = ""
    if wanted is None:
        wanted = first
    elif wanted < today + timedelta(days=LEAD_DAYS):
        note = f"The first appointments are on {say_day(first, today)}."
        wanted = first
    elif not context.hours.on(wanted):
        note = f"We're closed on {say_day(wanted, today)}."
    chosen = _best(free, wanted, window, prefer)
    if not note and not _fits(chosen, wanted, window):
        note = "I have nothing free then."
    others = [slot for slot in free if slot.day == chosen.day and slot != chosen]
    return {
        "date": chosen.day.isoformat(),
        "time": clock(chosen.minutes),
        "day_say": say_day(chosen.day, today),
        "say": f"{say_day(chosen.day, today)} at {say_time(chosen.minutes)}",
        "note": note,
        "others": [clock(slot.minutes) for slot in others],
    }


@tool(effect="write", confirm=True, timeout=8.0, filler="One moment, I'm putting you in.")
def book(
    context: ToolContext,
    store: sqlite3.Connection,
    day: Annotated[str, Meta(description="The date, as find_times gave it.")],
    time: Clock,
    name: Annotated[str, Meta(max_length=500, description="The last name, as it was heard.")],
    spelled: Annotated[str, Meta(description="The name letter by letter, where given.")] = "",
    first_name: Text = "",
    make: Text = "",
    model: Text = "",
    year: int = 0,
    problem: Text = "",
) -> Json:
    """Book an appointment; a second one in the same call takes the place of the first."""
    try:
        slot = Slot(date.fromisoformat(day), minutes(time, -1))
    except ValueError:
        raise ToolFailed("bad_arguments", "day must be a date such as 2025-12-04") from None
    store.execute(_SCHEMA)
    call = context.call.call_id
    moved = store.execute("delete from bookings where call = ?", (call,)).rowcount > 0
    if slot not in _free(store, context.hours, context.began.date()):
        raise ToolFailed("taken", "That time is not free any more.")
    car = " ".join(str(part) for part in (year or "", make, model) if part)
    store.execute(
        "insert into bookings (call, day, time, name, spelled, car, problem, number)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            call,
            day,
            clock(slot.minutes),
            f"{first_name} {likely_name(name, spelled)}".strip(),
            spelled,
            car,
            problem,
            context.call.caller,
        ),
    )
    day_say = say_day(slot.day, context.began.date())
    return {
        "status": "booked",
        "date": day,
        "time": clock(slot.minutes),
        "day_say": day_say,
        "say": f"{day_say} at {say_time(slot.minutes)}",
        "moved": moved,
    }


def likely_name(heard: str, spelled: str) -> str:
    """Choose between a name as it was heard and as it was spelled, which both may be bent."""
    letters = spelled.capitalize()
    if not heard:
        return letters
    like = SequenceMatcher(None, heard.lower(), letters.lower()).ratio()
    # A spelling whose beginning was lost is a worse name than the one that was heard.
    short = len(heard) - len(letters)
    return letters if short <= 0 or (short == 1 and like >= 0.5) else heard


def resolve(day: str, today: date) -> date | None:
    """Find the date that a day named in a call means; None: the first there is."""
    text = day.strip().lower()
    if text.startswith("+") and text[1:].isdigit():
        return today + timedelta(days=int(text[1:]))
    if text in ("today", "tomorrow"):
        return today + timedelta(days=text == "tomorrow")
    if text == "next week":
        return today + timedelta(days=7 - today.weekday())
    name = text.removeprefix("next ")
    if name in WEEKDAYS:
        ahead = (WEEKDAYS.index(name) - today.weekday() - 1) % 7 + 1
        return today + timedelta(days=ahead)
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def say_day(day: date, today: date) -> str:
    """Say a date as people do: `tomorrow`, `Thursday`, `Thursday, December 11`."""
    ahead = (day - today).days
    if ahead in (0, 1):
        return ("today", "tomorrow")[ahead]
    name = WEEKDAYS[day.weekday()].capitalize()
    return name if ahead < 7 else f"{name}, {day:%B} {day.day}"


def minutes(text: str, missing: int) -> int:
    """Read `08:30` as minutes after midnight."""
    hours, colon, rest = text.partition(":")
    if not colon or not hours.isdigit() or not rest[:2].isdigit():
        return missing
    return int(hours) * 60 + int(rest[:2])


def clock(after_midnight: int) -> str:
    """Write minutes after midnight as `08:30`."""
    return f"{clock_time(after_midnight):%H:%M}"


def _free(store: sqlite3.Connection, hours: OpeningHours, today: date) -> Iterator[Slot]:
    """Return every time that can still be booked, in order."""
    store.execute(_SCHEMA)
    rows = store.execute("select day, time, count(*) from bookings group by day, time").fetchall()
    taken = {(row[0], row[1]): row[2] for row in rows}
    for ahead in range(LEAD_DAYS, HORIZON):
        day = today + timedelta(days=ahead)
        for span in hours.on(day):
            first = -(-span.start // STEP) * STEP  # on the hour: easier to say and to keep
            for at in range(first, span.end - LAST + 1, STEP):
                if taken.get((day.isoformat(), clock(at)), 0) < BAYS:
                    yield Slot(day, at)


def _fits(slot: Slot, wanted: date, window: tuple[int, int]) -> bool:
    first, last = window
    return slot.day == wanted and first - STEP // 2 <= slot.minutes <= max(last, first)


def _best(free: list[Slot], wanted: date, window: tuple[int, int], prefer: str) -> Slot:
    """Choose the slot nearest to a wish: the day first, then the time."""
    first, last = window
    later = [slot for slot in free if slot.day >= wanted] or free
    inside = [slot for slot in later if first <= slot.minutes <= max(first, last)]
    same_day = [slot for slot in inside if slot.day == wanted]
    if same_day:
        return same_day[-1] if prefer == "late" else same_day[0]
    day = later[0].day
    if day == wanted and first > 0:  # that day, as near to the time as can be had
        near = [slot for slot in later if slot.day == day]
        return min(near, key=lambda slot: (abs(slot.minutes - first), slot.minutes))
    return inside[0] if inside else later[0]
