"""When a page is away, back or gone, and when a call has lasted long enough.

             packet   quiet 1 s   quiet `away_seconds`   longest length
    here     here     away        -                      told once
    away     here     away        gone, told once        told once

What is told of `here` and `away` is the change alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BREAK_SECONDS = 1.0
"""Without any packet (a browser sends fifty a second) the connection is broken, and the agent
waits instead of talking to nobody."""

STEP_MOST = 0.1
"""Seconds that one tick counts for at most: when this process stood still, nobody was away."""

News = Literal["away", "back", "gone", "time is up"]


@dataclass(frozen=True, slots=True)
class Limits:
    """When a call is over in any case."""

    seconds: float
    "longest length"
    goodbye: str
    "said then"
    away_seconds: float
    "without a packet"


class Watch:
    """Counts the silence of a connection; each piece of news is told once."""

    def __init__(self, limits: Limits, now: float) -> None:
        self.away = False
        self.limits = limits
        self._began = self._ticked = now
        self.quiet = 0.0
        "seconds since the last packet, as far as this process was awake"
        self._told: set[News] = set()

    def alive(self) -> None:
        """Take that something authenticated arrived."""
        self.quiet = 0.0

    def tick(self, now: float) -> list[News]:
        """Return what is new."""
        news: list[News] = []
        self.quiet += min(now - self._ticked, STEP_MOST)
        self._ticked = now
        if self.away != (self.quiet > BREAK_SECONDS):
            self.away = not self.away
            news.append("away" if self.away else "back")
        if self.quiet > self.limits.away_seconds:
            news += self._once("gone")
        if now - self._began > self.limits.seconds:
            news += self._once("time is up")
        return news

    def _once(self, what: News) -> list[News]:
        if what in self._told:
            return []
        self._told.add(what)
        return [what]
