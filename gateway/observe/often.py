"""Keeps one kind of message from drowning the others: so many a second, and a count of the rest."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from structlog.typing import EventDict, WrappedLogger

BURST = 100
"""Messages of one kind at once: as many calls may begin, or break, in one moment."""

RATE = 10.0
"""A second, for as long as it lasts."""

KINDS = 1000
"""Kinds that are counted apart; a library that puts what differs into its words has more."""


@dataclass(slots=True)
class _Kind:
    left: float
    at: float
    held_back: int = 0


class Often:
    """Decides which messages are one too many."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: dict[str, _Kind] = {}

    def passes(self, kind: str) -> int | None:
        """Return how many of a kind were held back before this one; None: so is this."""
        now = self._clock()
        known = self._kinds.get(kind)
        if known is None:
            if len(self._kinds) >= KINDS:
                self._kinds.clear()
            self._kinds[kind] = _Kind(BURST - 1, now)
            return 0
        known.left = min(BURST, known.left + (now - known.at) * RATE)
        known.at = now
        if known.left < 1:
            known.held_back += 1
            return None
        known.left -= 1
        held, known.held_back = known.held_back, 0
        return held

    def process(self, _logger: WrappedLogger, _name: str, fields: EventDict) -> EventDict:
        """Take a message of ours; for structlog."""
        held = self.passes(str(fields.get("event", "")))
        if held is None:
            raise structlog.DropEvent
        return {**fields, "held_back": held} if held else fields

    def filter(self, record: logging.LogRecord) -> bool:
        """Take a message of a library; for `logging`."""
        if isinstance(record.msg, dict):
            return True  # ours, and counted already
        return self.passes(str(record.msg)) is not None
