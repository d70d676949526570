"""Waits for a peer that may be silent for so long, and not for a process that stood still.

After a stop of thirty seconds all timers are over before the first socket is read, whose data may
have been waiting all along. A wait that ends late is therefore given one more moment, in which what
came is read; whoever is heard of in it calls the wait off as ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LATE_SECONDS = 0.5
"""A timer that fires so late was held up by the process, not by the peer."""

GRACE_SECONDS = 0.5
"""A few rounds of the loop, with however much there is to be read."""


class FairWait:
    """One wait; it ends by `over` being called, or by being called off."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, over: Callable[[], object]
    ) -> None:
        self._loop = loop
        self._over = over
        self._due = loop.time() + seconds
        self._handle = loop.call_later(seconds, self._ends)

    def cancel(self) -> None:
        """Call the wait off."""
        self._handle.cancel()

    def _ends(self) -> None:
        if self._loop.time() - self._due > LATE_SECONDS:
            self._handle = self._loop.call_later(GRACE_SECONDS, self._over)
        else:
            self._over()
