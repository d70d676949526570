"""How many calls this machine places for others in an hour: what a fooled model or a lost key may
cost."""

from __future__ import annotations

from collections import deque

HOUR = 3600.0


class Allowance:
    """Counts the calls that were placed, and handed on; is given the time."""

    def __init__(self, most: int) -> None:
        """`most` in any hour."""
        self.most = most
        self._taken: deque[float] = deque()

    def take(self, now: float) -> bool:
        """Count one more, or say that there have been as many as may be."""
        while self._taken and self._taken[0] <= now - HOUR:
            self._taken.popleft()
        if len(self._taken) >= self.most:
            return False
        self._taken.append(now)
        return True
