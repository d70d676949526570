"""Does something on the loop once it has handled all that came, for voice activity."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

MANY: Final = 8
APART: Final = 0.018
"""With so many streams, so many seconds between two batches: what a batch costs beside its windows
(the model and all around it, fetched into the processor's cache) is paid fifty times a second, and
not whenever one of the callers' packets comes."""


class Soon:
    """Does something on the loop after all that is being handled now, once however often asked.

    A busy loop handles many packets in one go: the windows they complete are judged together.
    """

    def __init__(self, act: Callable[[], object]) -> None:
        self.streams = 0
        "that are open, and ask"
        self._act = act
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked = False
        self._last = 0.0

    def begin(self) -> None:
        """From now on, do what is asked for on the running loop."""
        self._loop = asyncio.get_running_loop()

    def ask(self) -> None:
        """Ask for it."""
        loop = self._loop
        if loop is None or self._asked:
            return
        self._asked = True
        if self.streams >= MANY and loop.time() < self._last + APART:
            loop.call_at(self._last + APART, self._do, loop)
        else:
            # Twice around, so that what came while the last was handled is read before.
            loop.call_soon(loop.call_soon, self._do, loop)

    def _do(self, loop: asyncio.AbstractEventLoop) -> None:
        self._asked = False
        self._last = loop.time()
        self._act()
