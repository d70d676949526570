"""When a page is away, back or gone, and when a call has lasted long enough.

             packet   quiet 1 s   unheard 2 s   quiet `away_seconds`   longest length
    here     here     away        away          -                      told once
    away     here     away        away          gone, told once        told once

Quiet is a page that sends nothing, unheard one that sends and says no more what it plays, although
sound is sent to it: the way there is broken, and the way back is not.

What is told of `here` and `away` is the change alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BREAK_SECONDS = 1.0
"""Without any packet (a browser sends fifty a second) the connection is broken, and the agent
waits instead of talking to nobody."""

UNHEARD_SECONDS = 2.0
"""Without a report of what is played; a page that is not looked at makes one a second."""

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
        self._unheard = 0.0
        "seconds of sound that were sent since the page last said what it plays"
        self._told: set[News] = set()

    def alive(self) -> None:
        """Take that something authenticated arrived."""
        self.quiet = 0.0

    def heard(self) -> None:
        """Take that the page said what it plays."""
        self._unheard = 0.0

    @property
    def unheard(self) -> bool:
        """Whether nothing shows any more that what is sent is heard."""
        return self._unheard > UNHEARD_SECONDS

    def tick(self, now: float, *, sounding: bool) -> list[News]:
        """Return what is new; `sounding`: sound is sent, and the page will say that it is heard."""
        news: list[News] = []
        step = min(now - self._ticked, STEP_MOST)
        self.quiet += step
        self._unheard += step if sounding else 0.0
        self._ticked = now
        if self.away != (self.quiet > BREAK_SECONDS or self.unheard):
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
