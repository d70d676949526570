"""When calls come and how long they last: a Poisson stream, whatever the server does.

The stream has been flowing for as long as a call may last: who is on the telephone at its start
begins during the settling time, and talks for what is left of the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, assert_never

Uniform = Callable[[], float]
"""Draws from 0 (included) to 1 (not included)."""

Kind = Literal["fixed", "uniform", "exponential", "lognormal"]

TAIL = 0.999
"""Of lengths without an end, the longest one in a thousand is as long as a call gets."""

FORMS = "SECONDS, uniform:FROM-TO, exponential:MEAN or lognormal:MEDIAN,SIGMA"


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long calls last, as a distribution."""

    kind: Kind
    first: float
    "seconds: the length, the least, the mean, the median"
    second: float = 0.0
    "the greatest length in seconds, or the standard deviation of the logarithm"

    def at(self, share: float) -> float:
        """Return the length that so great a share of calls stays within."""
        match self.kind:
            case "fixed":
                return self.first
            case "uniform":
                return self.first + share * (self.second - self.first)
            case "exponential":
                return -self.first * math.log1p(-min(share, TAIL))
            case "lognormal":
                within = min(max(share, 1 - TAIL), TAIL)
                return self.first * math.exp(self.second * NormalDist().inv_cdf(within))
            case _:
                assert_never(self.kind)

    @property
    def longest(self) -> float:
        """Return the length of the longest call."""
        return self.at(1.0)

    @property
    def mean(self) -> float:
        """Return the mean length, by its quantiles: the tail ends where the longest call does."""
        steps = 1000
        return sum(self.at((n + 0.5) / steps) for n in range(steps)) / steps

    def __str__(self) -> str:
        match self.kind:
            case "fixed":
                return f"{self.first:g}"
            case "uniform":
                return f"uniform:{self.first:g}-{self.second:g}"
            case "exponential":
                return f"exponential:{self.first:g}"
            case "lognormal":
                return f"lognormal:{self.first:g},{self.second:g}"
            case _:
                assert_never(self.kind)


def parse_lengths(text: str) -> Lengths:
    """Read `60`, `uniform:30-90`, `exponential:60` or `lognormal:60,0.8`; raise ValueError."""
    kind, colon, rest = text.partition(":")
    try:
        match kind:
            case "uniform":
                low, _, high = rest.partition("-")
                lengths = Lengths("uniform", float(low), float(high))
            case "exponential":
                lengths = Lengths("exponential", float(rest))
            case "lognormal":
                median, _, sigma = rest.partition(",")
                lengths = Lengths("lognormal", float(median), float(sigma))
            case _ if not colon:
                lengths = Lengths("fixed", float(text))
            case _:
                raise ValueError
    except ValueError:
        raise ValueError(f"found {text!r}, it must be {FORMS}") from None
    if not 1.0 <= lengths.first <= lengths.longest <= 3600.0:
        raise ValueError(f"found {text!r}: calls last from a second to an hour")
    return lengths


@dataclass(frozen=True, slots=True)
class Arrival:
    """One call that comes."""

    at: float
    "seconds after the beginning"
    seconds: float
    "how long it lasts"


def arrivals(
    rate: float, settle: float, seconds: float, lengths: Lengths, uniform: Uniform
) -> list[Arrival]:
    """Draw the calls of a run, in order: `settle` seconds to fill up, then so many to be measured.

    `rate` is in calls a second.
    """
    under_way: list[float] = []
    fresh: list[Arrival] = []
    at = -lengths.longest
    while (at := at - math.log1p(-uniform()) / rate) < seconds:
        length = lengths.at(uniform())
        if at >= 0:
            fresh.append(Arrival(settle + at, length))
        elif at + length > 0:
            under_way.append(at + length)
    spread = [
        Arrival(settle * n / len(under_way), settle * (1 - n / len(under_way)) + left)
        for n, left in enumerate(under_way)
    ]
    return spread + fresh
