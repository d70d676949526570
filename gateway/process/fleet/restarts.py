"""When a process that was lost is started again."""

from __future__ import annotations

QUICK = 10.0
"""Seconds; a process that lives for a shorter time did not serve."""

FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0


class Restarts:
    """Decides; is given the time."""

    def __init__(self) -> None:
        self._failures = 0

    def wait(self, lived: float) -> float:
        """Return the seconds to wait after a life of so many: none, unless it was short again.

        What fails at once would otherwise take a core for nothing but failing.
        """
        if lived >= QUICK:
            self._failures = 0
            return 0.0
        self._failures += 1
        if self._failures == 1:
            return 0.0
        return min(FIRST_WAIT * 2.0 ** (self._failures - 2), LONGEST_WAIT)
