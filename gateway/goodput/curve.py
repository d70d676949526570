"""Goodput against the rate at which calls come, and the rate up to which callers are content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.goodput.judging import FAULTS, JudgedCall, Limits, good_share
from gateway.goodput.validity import Loads

TARGET = 0.95
"""Share of turns that must be good."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a figure is spread over turns; None: there were none."""

    p50: float | None
    p95: float | None

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Return the median and the 95th percentile, by the nearest rank."""
        ordered = sorted(values)
        if not ordered:
            return Spread(None, None)
        last = len(ordered) - 1
        return Spread(ordered[round(0.5 * last)], ordered[round(0.95 * last)])


@dataclass(frozen=True, slots=True)
class Usage:
    """What a rate took, while it was measured."""

    seconds: float
    "wall clock"
    call_seconds: float
    "of all calls together"
    server: float | None
    "processor seconds of the server's processes; None: it is not known which they are"
    loads: Loads


@dataclass(frozen=True, slots=True)
class Point:
    """One rate."""

    rate: float
    "calls a second"
    offered: float
    "calls at once that so many are on average, if all are taken"
    held: float
    "calls at once that there were"
    placed: int
    answered: int
    refused: int
    broken: int
    good_calls: int
    turns: int
    good: float | None
    "share of turns; None: there were none"
    faults: Mapping[str, int]
    "turns that were over each limit"
    response: Spread
    stop_delay: Spread
    heard_error: Spread
    late: float
    "share of all frames"
    missing: float
    answer: Spread
    goodput: float
    "good calls a second"
    cost: float | None
    "processor seconds of the server per call and second; None: not known"
    usage: Usage
    refusals: Mapping[str, int]
    "in the server's words"
    breaks: Mapping[str, int]
    problems: tuple[str, ...]
    "why the figures say nothing; empty: they do"

    @property
    def valid(self) -> bool:
        """Say whether the figures say something about the server."""
        return not self.problems


def point(
    rate: float,
    offered: float,
    calls: Sequence[JudgedCall],
    limits: Limits,
    usage: Usage,
    problems: Sequence[str],
) -> Point:
    """Sum up the calls of one rate."""
    turns = [turn for call in calls for turn in call.turns]
    figures = [turn.figures for turn in turns]
    frames = sum(each.frames for each in figures)
    missing = sum(each.missing for each in figures)
    server = usage.server
    good = sum(call.good(limits) for call in calls)
    return Point(
        rate=rate,
        offered=offered,
        held=usage.call_seconds / usage.seconds,
        placed=len(calls),
        answered=sum(call.answered_after is not None for call in calls),
        refused=sum(call.refused is not None for call in calls),
        broken=sum(bool(call.broken) for call in calls),
        good_calls=good,
        turns=len(turns),
        good=good_share(calls),
        faults={name: sum(name in turn.faults for turn in turns) for name in FAULTS},
        response=Spread.of([r for each in figures if (r := each.response) is not None]),
        stop_delay=Spread.of([d for each in figures if (d := each.stop_delay) is not None]),
        heard_error=Spread.of([e for each in figures if (e := each.heard_error) is not None]),
        late=sum(each.late for each in figures) / max(1, frames),
        missing=missing / max(1, frames + missing),
        answer=Spread.of([a for call in calls if (a := call.answered_after) is not None]),
        goodput=rate * good / max(1, len(calls)),
        cost=None if server is None or not usage.call_seconds else server / usage.call_seconds,
        usage=usage,
        refusals=Counter(call.refused.said for call in calls if call.refused is not None),
        breaks=Counter(call.broken for call in calls if call.broken),
        problems=tuple(problems),
    )


def capacity(points: Sequence[Point], target: float = TARGET) -> Point | None:
    """Return the highest rate before the first at which callers were not content.

    None: not even the lowest was valid and good.
    """
    best = None
    for each in sorted(points, key=lambda one: one.rate):
        if not each.valid or each.good is None or each.good < target:
            break
        best = each
    return best
