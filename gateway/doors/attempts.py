"""How often a password may be tried: guessing takes ages, and never the processor from calls."""

from __future__ import annotations

from collections import deque

MOST = 10
WITHIN = 60.0
"""Seconds; a person who mistypes is not stopped."""


class Attempts:
    """Counts what was tried in vain; is given the time."""

    def __init__(self) -> None:
        self._failed: deque[float] = deque()

    def wait(self, now: float) -> float:
        """Return how many seconds are to pass before the next try; 0: none."""
        while self._failed and self._failed[0] <= now - WITHIN:
            self._failed.popleft()
        return self._failed[0] + WITHIN - now if len(self._failed) >= MOST else 0.0

    def failed(self, now: float) -> None:
        """Take one more that was in vain."""
        self._failed.append(now)
