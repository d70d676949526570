"""One-use tickets from the webhook to the stream: who was let in, and for which call."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from gateway.ports import Free, no_place

MOST = 1000
"""Tickets kept; more calls than this are never between webhook and stream within seconds."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What the webhook learnt and decided of a call."""

    call_sid: str
    agent: str
    caller: str = ""
    callee: str = ""
    direction: Literal["inbound", "outbound"] = "inbound"
    free: Free = field(default=no_place, compare=False, repr=False)
    "gives back the place that is kept for the call until its stream is there"


class Tickets:
    """Keeps tickets for a short time; each is given out once and taken once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # Tokens are kept as hashes: a look at memory or at a lookup's time gives none away.
        self._waiting: OrderedDict[bytes, tuple[float, Ticket]] = OrderedDict()

    def issue(self, token: str, ticket: Ticket, now: float) -> None:
        """Keep a ticket under an unguessable token that was just drawn."""
        self._expire(now)
        self._waiting[_key(token)] = (now + self._seconds, ticket)
        if len(self._waiting) > MOST:
            self._waiting.popitem(last=False)

    def take(self, token: str, call_sid: str, now: float) -> Ticket | str:
        """Return the ticket and forget it; else say why there is none.

        A token shown for another call is spent: whoever shows it does not get a second try.
        """
        self._expire(now)
        found = self._waiting.pop(_key(token), None)
        if found is None:
            return "token unknown, used or too old"
        ticket = found[1]
        return ticket if ticket.call_sid == call_sid else "token of another call"

    def __len__(self) -> int:
        return len(self._waiting)

    def _expire(self, now: float) -> None:
        while self._waiting:
            until, _ = next(iter(self._waiting.values()))
            if until > now:
                break
            self._waiting.popitem(last=False)


def _key(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
