"""How much of what a caller presses and types is taken: as much as a person can, and no flood."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.log_events import InputDroppedLogged


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a person may do."""

    burst: int
    "at once"
    rate: float
    "a second, for as long as they like"
    quiet: float = 1.0
    "seconds without any after which a flood is over; all of it is dropped until then"


KEYS = Allowance(burst=40, rate=5.0)
"""Fingers press five a second; a phone that dials a stored number sends up to 40 digits faster."""

TEXTS = Allowance(burst=8, rate=0.5)
"""Nobody writes more than a sentence every two seconds."""


class Flood:
    """Decides what is taken of one kind of input, and counts what is not."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._left = float(allowance.burst)
        self._last: float | None = None
        "when the last one came, taken or not"
        self.dropped = 0
        "in the flood that is going on"

    def takes(self, now: float) -> bool:
        """Return whether one more is taken."""
        if self._last is not None:
            grown = self._left + (now - self._last) * self._allowance.rate
            self._left = min(float(self._allowance.burst), grown)
        self._last = now
        if self.dropped or self._left < 1:
            self.dropped += 1
            return False
        self._left -= 1
        return True

    def over(self, now: float) -> int:
        """Return how many were dropped in a flood that has ended, once; 0: there was none."""
        if not self.dropped or self._last is None or now - self._last < self._allowance.quiet:
            return 0
        dropped, self.dropped = self.dropped, 0
        return dropped


class Floods:
    """Both kinds of input of one call, with what is to be told of them."""

    def __init__(self) -> None:
        self._kinds = {"keys": Flood(KEYS), "texts": Flood(TEXTS)}
        self.going_on = False
        "something was dropped that is not told yet"

    def takes(self, kind: str, now: float) -> bool:
        """Return whether one more key or text is taken."""
        taken = self._kinds[kind].takes(now)
        self.going_on = self.going_on or not taken
        return taken

    def told(self, now: float) -> list[InputDroppedLogged]:
        """Return what to log of floods that have ended; infinity ends them all."""
        if not self.going_on:
            return []
        told = [
            InputDroppedLogged(kind=kind, count=count)
            for kind, flood in self._kinds.items()
            if (count := flood.over(now))
        ]
        self.going_on = any(flood.dropped for flood in self._kinds.values())
        return told
