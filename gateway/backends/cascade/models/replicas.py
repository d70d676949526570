"""Which of several equal servers is asked: a call stays where its prefix is cached.

A call that is new goes where least is being done, with a preference for servers that have the
agent's instructions cached already; a server that refused or failed is asked last for a while.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

CALLS = 4096
"""Calls whose server is remembered; far more than one process carries at once."""

PREFIXES = 64
"""Agents whose instructions are taken to be cached at a server, the latest ones."""

COLD = 2
"""An agent's instructions (a thousand tokens, say) cost a server about as much as answering two
turns whose prefix it has: worth that many requests of difference in load."""

MOVE = 8
"""A call's own history is longer and its caller is waiting: it moves only from a server that is
this many requests busier than the least busy one."""

LONGEST_REST = 30.0
"""Seconds after which a server is asked again, whatever it said."""


@dataclass(slots=True)
class _Replica:
    running: int = 0
    "requests that this process has there"
    resting: float = 0.0
    "loop seconds until which it is asked last"


class Replicas:
    """Orders servers by number; is told what became of each request."""

    def __init__(self, count: int) -> None:
        self._replicas = [_Replica() for _ in range(count)]
        self._calls: OrderedDict[str, int] = OrderedDict()
        self._warm: list[OrderedDict[str, None]] = [OrderedDict() for _ in range(count)]

    def order(self, call: str, prefix: str, now: float) -> list[int]:
        """List all servers, the best one first; those at rest come last, the soonest back first."""
        home = self._calls.get(call)

        def cost(place: int) -> tuple[float, int, str]:
            replica = self._replicas[place]
            away = 0 if home in (None, place) else MOVE
            cold = 0 if prefix in self._warm[place] else COLD
            rest = max(0.0, replica.resting - now)
            return rest, replica.running + away + (0 if home == place else cold), _mix(call, place)

        return sorted(range(len(self._replicas)), key=cost)

    def begin(self, place: int) -> None:
        """A request was sent."""
        self._replicas[place].running += 1

    def end(self, place: int) -> None:
        """A request is over, however."""
        self._replicas[place].running -= 1

    def answered(self, place: int, call: str, prefix: str) -> None:
        """A request was answered: from now on the call is at home there."""
        self._replicas[place].resting = 0.0
        _remember(self._calls, call, place, CALLS)
        _remember(self._warm[place], prefix, None, PREFIXES)

    def failed(self, place: int, now: float, rest: float) -> None:
        """A request was refused or lost: ask others first for a while."""
        self._replicas[place].resting = now + min(rest, LONGEST_REST)


def _remember(known: OrderedDict[str, T], key: str, value: T, limit: int) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > limit:
        known.popitem(last=False)


def _mix(call: str, place: int) -> str:
    """Spread calls that could go anywhere, the same way each time."""
    return hashlib.blake2s(f"{call} {place}".encode(), digest_size=8).hexdigest()
