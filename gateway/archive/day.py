"""The day: what callers waited for over time, by agent and line, and what is new since a week."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from gateway.archive.records import TOKENS
from gateway.archive.spread import percentile, share_below
from gateway.archive.store import Store
from gateway.log_events import Stages

STAGES: tuple[str, ...] = Stages.__struct_fields__

HOUR = timedelta(hours=1)
WEEK = timedelta(days=7)
LONGEST = timedelta(days=31)

GOOD_SECONDS = 1.0
"""An answer that comes sooner is a good one; people begin to notice from there on."""

Counts = dict[str, int]
Spreads = dict[str, dict[int, int]]


class DayAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stretch of whole hours, the last of it not included."""

    since: str
    "hour, UTC: 2026-03-02T14"
    until: str
    line: str = ""
    agent: str = ""


class Figures(msgspec.Struct, frozen=True):
    """What one hour, one agent, or a whole stretch looks like; times in seconds."""

    calls: int
    turns: int
    cut_ins: int
    faults: int
    failed: int
    "calls that ended by a failure"
    refused: int
    tools: int
    tokens: dict[str, int]
    good: float | None
    "share of answers within a second"
    response: dict[str, float | None]
    "`p50`, `p90`, `p95`"
    stop_delay: float | None
    "median"
    stages: dict[str, float | None]
    "median of each"


class Group(msgspec.Struct, frozen=True):
    """An agent or a line, now and a week before."""

    name: str
    now: Figures
    before: Figures


class Day(msgspec.Struct, frozen=True):
    """The answer."""

    hours: list[str]
    by_hour: list[Figures]
    now: Figures
    before: Figures
    "the same hours of the week before"
    agents: list[Group]
    lines: list[Group]
    refused: dict[str, int]
    "by cause"
    faults: dict[str, int]
    "by part"


class _Cell:
    """What is added up."""

    def __init__(self) -> None:
        self.counts: Counts = defaultdict(int)
        self.spreads: Spreads = defaultdict(lambda: defaultdict(int))


Cells = defaultdict[str, _Cell]


class _Stretch:
    """What is known of some hours."""

    def __init__(self, store: Store, asked: DayAsked, first: datetime, last: datetime) -> None:
        self._store = store
        self._values = (_name(first), _name(last), asked.line, asked.agent)
        self.lines, self.agents = self.by("line"), self.by("agent")
        self.whole = _Cell()
        for cell in self.lines.values():
            for what, count in cell.counts.items():
                self.whole.counts[what] += count
            for what, buckets in cell.spreads.items():
                for bucket, count in buckets.items():
                    self.whole.spreads[what][bucket] += count

    def by(self, column: Literal["hour", "line", "agent"]) -> Cells:
        """Add up by a column."""
        cells = Cells(_Cell)
        where = "hour >= ? and hour < ? and (? in ('', line)) and (? in ('', agent))"
        for name, what, count in self._store.base.execute(
            f"select {column}, what, sum(count) from counts where {where} group by 1, 2",
            self._values,
        ):
            cells[name].counts[what] = count
        for name, what, bucket, count in self._store.base.execute(
            f"select {column}, what, bucket, sum(count) from spreads where {where} "
            "group by 1, 2, 3",
            self._values,
        ):
            cells[name].spreads[what][bucket] = count
        return cells


def day(store: Store, asked: DayAsked) -> Day:
    """Sum a stretch up; raise ValueError for hours that are none."""
    first, last = _hour(asked.since), _hour(asked.until)
    if not timedelta() < last - first <= LONGEST:
        raise ValueError(f"until must be up to {LONGEST.days} days after since")
    now = _Stretch(store, asked, first, last)
    before = _Stretch(store, asked, first - WEEK, last - WEEK)
    hours = [_name(first + timedelta(hours=n)) for n in range((last - first) // HOUR)]
    by_hour = now.by("hour")
    return Day(
        hours,
        [_figures(by_hour[hour]) for hour in hours],
        _figures(now.whole),
        _figures(before.whole),
        _groups(now.agents, before.agents),
        _groups(now.lines, before.lines),
        _named(now.whole.counts, "refused:"),
        _named(now.whole.counts, "fault:"),
    )


def _groups(now: Cells, before: Cells) -> list[Group]:
    names = sorted({*now, *before} - {""}, key=lambda name: (-now[name].counts["calls"], name))
    return [Group(name, _figures(now[name]), _figures(before[name])) for name in names]


def _figures(cell: _Cell) -> Figures:
    counts, spreads = cell.counts, cell.spreads
    return Figures(
        calls=counts["calls"],
        turns=counts["turns"],
        cut_ins=counts["cut_ins"],
        faults=counts["faults"],
        failed=counts["ended:failure"],
        refused=sum(_named(counts, "refused:").values()),
        tools=counts["tools"],
        tokens={name: counts[name] for name in TOKENS},
        good=share_below(spreads["response"], GOOD_SECONDS),
        response={f"p{n}": percentile(spreads["response"], n / 100) for n in (50, 90, 95)},
        stop_delay=percentile(spreads["stop_delay"], 0.5),
        stages={name: percentile(spreads[name], 0.5) for name in STAGES},
    )


def _named(counts: Counts, prefix: str) -> dict[str, int]:
    found = {name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix)}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _hour(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{text!r} is no hour; one is written 2026-03-02T14, in UTC") from None


def _name(hour: datetime) -> str:
    return hour.strftime("%Y-%m-%dT%H")
