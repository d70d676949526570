"""Days and times of day in a caller's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gateway.backends.cascade.models.script.numbers import small
from gateway.backends.cascade.models.script.words import find, find_any, likeness, listed, phrase

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

SHORT = frozenset(listed("tue tues wed weds thu thur thurs fri"))
"""Short forms that are no other words."""

UNITS_OF = frozenset(
    listed(
        "day days week weeks month months year years minute minutes hour hours mile miles thousand"
        " hundred people times dollars door doors"
    )
)
"""What a number before these counts is no time of day."""

PARTS = (
    (("first thing",), 0, 9 * 60),
    (("morning", "mornings", "before noon", "before lunch"), 0, 12 * 60 - 1),
    (("lunchtime", "lunch time", "over lunch"), 12 * 60, 14 * 60),
    (("late afternoon", "end of the day", "after work"), 15 * 60, 24 * 60),
    (("afternoon", "afternoons", "after lunch"), 13 * 60, 24 * 60),
    (("evening", "tonight"), 17 * 60, 24 * 60),
)
"""Parts of a day in minutes after midnight."""

EARLY = ("earlier", "earliest", "early", "soonest", "sooner", "as soon as", "first thing", "first")
THE_EARLIER = ("earlier the", "the earlier", "as early as")
"""`Earlier the better`: nothing else is meant by it, whether or not a time was asked for."""
LATE = ("later", "latest", "as late as", "late")
ANY = (
    "any time",
    "anytime",
    "whenever",
    "either",
    "doesnt matter",
    "dont mind",
    "dont care",
    "you choose",
    "whatever",
    "flexible",
    "all day",
    "up to you",
)
SOONEST = (
    "as soon as * can",
    "as soon as possible",
    "soonest",
    "earliest * day",
    "first available",
    "first opening",
    "first appointment",
    "next available",
    "asap",
)


def clock(minutes: int) -> str:
    """Write minutes after midnight as `08:30`."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def day(heard: Sequence[str], *, asked: bool) -> str:
    """Find a day: `+2` (days from the call), `thursday`, `next monday`, `first`; empty: none."""
    if find_any(heard, ("day after tomorrow",)):
        return "+2"
    if (ahead := _ahead(heard)) is not None:
        return f"+{ahead}"
    if "tomorrow" in heard:
        return "+1"
    # `I'm calling today because` names no day to come
    if "today" in heard and (asked or not {"call", "calling"} & set(heard)):
        return "+0"
    for at, word in enumerate(heard):
        name = _weekday(word, asked)
        if name:
            return f"next {name}" if heard[at - 1 : at] == ("next",) else name
    if find_any(heard, ("next week",)):
        return "next week"
    return "first" if find_any(heard, SOONEST) else ""


def _weekday(word: str, asked: bool) -> str:
    for name in WEEKDAYS:
        if word in (name, name + "s") or (asked and word in SHORT and name.startswith(word)):
            return name
    if not asked or len(word) < 6:
        return ""
    best = max(WEEKDAYS, key=lambda name: likeness(word, name, 0.75))
    return best if likeness(word, best, 0.75) else ""


def _ahead(heard: Sequence[str]) -> int | None:
    """Read `in two days`, `two days from now`, `a week from today`; never `two weeks ago`."""
    for at, word in enumerate(heard):
        if word not in ("day", "days", "week", "weeks") or at == 0:
            continue
        back = heard[max(0, at - 3) : at]
        count = 1 if back[-1] in ("a", "one") else None
        if (number := small(heard, at - 1)) is not None and number[1] == at:
            count = number[0]
        after = heard[at + 1 : at + 3]
        forward = "in" in back or after[:2] in (
            ("from", "now"),
            ("from", "today"),
            ("from", "then"),
        )
        if count is not None and forward:
            return count * (7 if word.startswith("week") else 1)
    return None


def time_of_day(heard: Sequence[str], *, asked: bool) -> Mapping[str, str]:
    """Find when on a day: `earliest` and `latest` as `08:00`, and `prefer` (`early`, `late`).

    Without having asked, only what cannot be meant otherwise is taken.
    """
    found: dict[str, str] = {}
    window = _between(heard, asked) or _one_sided(heard, asked) or _at(heard, asked) or _part(heard)
    if window is not None:
        first, last = window
        found["earliest"] = clock(first)
        found["latest"] = clock(min(last, 24 * 60 - 1))
    if find_any(heard, THE_EARLIER) or ((asked or window) and find_any(heard, EARLY)):
        found["prefer"] = "early"
    elif (asked or window) and find_any(heard, LATE):
        found["prefer"] = "late"
    elif asked and not found and find_any(heard, ANY):
        found["prefer"] = "any"
    return found


_TO = ("to", "till", "until", "and", "through", "two", "too", "2", "of", "or", "til")
"""What stands between two hours; recognisers write `two`, `2` and `of` for `to`."""


def _between(heard: Sequence[str], asked: bool) -> tuple[int, int] | None:
    for at in range(len(heard)):
        first = _hour(heard, at)
        if first is None and heard[at] in ("a", "ate") and heard[at + 1 : at + 2] == ("to",):
            first = (8 * 60, at + 1, "")  # what an `eight` is heard as before `to ten`
        if first is None:
            continue
        after = first[1]
        if heard[after : after + 1] and heard[after] in _TO:
            last = _hour(heard, after + 1)
        else:
            last = _hour(heard, after)  # `8-10`, the hyphen is gone
        between = at > 0 and heard[at - 1] in ("between", "from")
        # `eight to ten, the earlier the better` is an answer, asked or not.
        wish = len(heard) <= 8 and find_any(heard, (*EARLY, *LATE)) is not None
        if last is None or not (asked or between or wish or first[2] or last[2]):
            continue
        start, end = _sensible(first[0], first[2]), _sensible(last[0], last[2])
        if end <= start and not last[2]:
            end += 12 * 60
        if start < end < 24 * 60:
            return start, end
    return None


def _one_sided(heard: Sequence[str], asked: bool) -> tuple[int, int] | None:
    for at, word in enumerate(heard[:-1]):
        if word not in ("after", "before", "by", "from", "until"):
            continue
        hour = _hour(heard, at + 1)
        if hour is None or not (asked or hour[2]):
            continue
        minutes = _sensible(hour[0], hour[2])
        return (minutes, 24 * 60) if word in ("after", "from") else (0, minutes)
    return None


def _at(heard: Sequence[str], asked: bool) -> tuple[int, int] | None:
    for word, minutes in (("noon", 720), ("midday", 720)):
        if word in heard:
            return minutes, minutes
    for at in range(len(heard)):
        hour = _hour(heard, at)
        if hour is None:
            continue
        led = at > 0 and heard[at - 1] in ("at", "around", "about", "say")
        if hour[2] or (asked and (led or len(heard) <= 8)):
            minutes = _sensible(hour[0], hour[2])
            return minutes, minutes
    return None


def _part(heard: Sequence[str]) -> tuple[int, int] | None:
    # `good morning` is a greeting
    if find_any(heard, ("good morning", "good afternoon", "good evening")):
        return None
    return next((span for names, *span in PARTS if find_any(heard, names)), None)  # type: ignore[return-value]


def _hour(heard: Sequence[str], at: int) -> tuple[int, int, str] | None:
    """Read a clock time at a place: minutes, the place after it, and what marks the half day."""
    if at >= len(heard):
        return None
    word, extra = heard[at], 0
    if heard[at : at + 2] in (("half", "past"), ("quarter", "past"), ("quarter", "to")):
        extra = {"half": 30, "quarter": 15}[word] * (-1 if heard[at + 1] == "to" else 1)
        at += 2
        word = heard[at] if at < len(heard) else ""
    if ":" in word:
        hours, _, minutes = word.partition(":")
        value, after = int(hours) * 60 + int(minutes), at + 1
        mark = "clock" if int(minutes) else ""
    elif word[:-2].isdigit() and word[-2:] in ("am", "pm"):
        value, after, mark = int(word[:-2]) * 60, at + 1, word[-2:]
    else:
        number = small(heard, at)
        if number is None or not 0 < number[0] <= 24:
            return None
        value, after, mark = number[0] * 60, number[1], ""
        half = small(heard, after)
        if half is not None and half[0] in (15, 30, 45):
            value, after, mark = value + half[0], half[1], "clock"
    if after < len(heard) and heard[after] in ("am", "pm", "oclock"):
        mark, after = heard[after], after + 1
    elif heard[after : after + 2] in (("o", "clock"), ("a", "m"), ("p", "m")):
        mark, after = {"o": "oclock", "a": "am", "p": "pm"}[heard[after]], after + 2
    if after < len(heard) and heard[after] in UNITS_OF:
        return None
    if find(heard[after : after + 3], phrase("in the morning")):
        mark = "am"
    elif find(heard[after : after + 4], phrase("in the afternoon")):
        mark = "pm"
    if value > 24 * 60:
        return None
    return value + extra, after, mark or ("clock" if extra else "")


def _sensible(minutes: int, mark: str) -> int:
    """Put a time into the half day that is meant: shops are open from 7 in the morning."""
    if mark == "am":
        return minutes % (12 * 60)
    if mark == "pm":
        return minutes % (12 * 60) + 12 * 60
    return minutes + 12 * 60 if minutes < 7 * 60 else minutes
