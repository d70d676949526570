"""Which calls this process has, and when the bucket must hear it: a machine that is given the time.

What the bucket is told expires there, so that a process that is killed has no calls a minute later.
"""

from __future__ import annotations

import msgspec

from gateway.bus.names import key
from gateway.bus.wire import Held

EXPIRY_SECONDS = 60.0
"""How long the bucket believes what it was told."""

AGAIN_SECONDS = 20.0
"""How often it is told again: two times may be missed."""


class Roster:
    """The calls of this process, each with when it is to be said next."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._held: dict[str, Held] = {}
        self._over: set[str] = set()

    def __len__(self) -> int:
        """How many calls there are."""
        return len(self._held)

    def began(self, held: Held) -> None:
        """Take that a call began."""
        where = key(held.call)
        self._held[where] = held
        self._due[where] = 0.0
        self._over.discard(where)  # it is told of the new one instead

    def ended(self, call: str) -> None:
        """Take that a call is over; what concerns none that is here is passed over."""
        where = key(call)
        if self._held.pop(where, None) is not None:
            del self._due[where]
            self._over.add(where)

    def due(self, now: float) -> list[tuple[str, bytes | None]]:
        """Return what the bucket is to be told, the longest due first; None: forget it."""
        told: list[tuple[str, bytes | None]] = [(where, None) for where in sorted(self._over)]
        waiting = sorted((due, where) for where, due in self._due.items() if due <= now)
        return told + [(where, msgspec.json.encode(self._held[where])) for _, where in waiting]

    def told(self, where: str, said: bytes | None, now: float) -> None:
        """Take that the bucket has it; what changed meanwhile is due still."""
        if said is None:
            self._over.discard(where)
        elif where in self._due:
            self._due[where] = now + AGAIN_SECONDS

    def forgotten(self) -> None:
        """Take that the bucket may know nothing: the server was away."""
        self._due = dict.fromkeys(self._due, 0.0)
