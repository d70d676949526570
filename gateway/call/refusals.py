"""Which refused and failed calls are written down one by one: a flood is summed up."""

from __future__ import annotations

from collections import Counter

from gateway.log_events import CallFailedLogged, CallRefusedLogged

Missed = CallRefusedLogged | CallFailedLogged
"""A call that never came to be."""

BURST = 20
"""Lines a second: more than any honest trunk or page is refused, and nothing for the disk."""

WINDOW = 1.0


class Refusals:
    """Passes so many a second on, and sums the rest up by line, direction and cause."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        "all of them, by cause"
        self._until = 0.0
        self._passed = 0
        self._rest: Counter[tuple[str, str]] = Counter()

    @property
    def deadline(self) -> float | None:
        """When a sum is to be told; None: there is none."""
        return self._until if self._rest else None

    def take(self, missed: Missed, now: float) -> list[Missed]:
        """Return what is to be written now."""
        told = self.time_passed(now)
        self.counted[cause(missed)] += 1
        if now >= self._until:
            self._until, self._passed = now + WINDOW, 0
        if isinstance(missed, CallRefusedLogged) and self._passed >= BURST:
            self._rest[missed.line, missed.cause] += 1
            return told
        self._passed += 1
        return [*told, missed]

    def time_passed(self, now: float) -> list[Missed]:
        """Sum up what was not passed on in a second that is over."""
        if now < self._until or not self._rest:
            return []
        rest, self._rest = self._rest, Counter()
        return [
            CallRefusedLogged(line=line, direction="inbound", cause=cause, count=count)
            for (line, cause), count in rest.items()
        ]


def cause(missed: Missed) -> str:
    """Return why there was no call, in one word."""
    return missed.cause if isinstance(missed, CallRefusedLogged) else missed.outcome
