"""How much may come from a peer: so much at once, and so much a second for as long as it lasts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """What is more than anybody needs."""

    at_once: float
    a_second: float


class Meter:
    """Measures one stream; it is told the time."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._left = measure.at_once
        self._at: float | None = None

    def wait(self, amount: float, now: float) -> float:
        """Take an amount that came; give the seconds after which it would not have been too much.

        0: it is within the measure.
        """
        if self._at is not None:
            grown = self._left + (now - self._at) * self._measure.a_second
            self._left = min(self._measure.at_once, grown)
        self._at = now
        self._left -= amount
        return max(0.0, -self._left / self._measure.a_second)
