"""Why a call was turned away: by the limit that is measured, or by another that is in its way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Limiter = Literal["capacity", "rate", "ports", "files", "door"]
"""`capacity`: the server has enough to do. `rate`, `ports`, `files`, `door`: it never came to
that: too many came from one place, a port or a file was missing, or the caller may not come in."""

LIMITERS: tuple[Limiter, ...] = ("capacity", "rate", "ports", "files", "door")

CAUSES: dict[str, Limiter] = {
    "calls": "capacity",
    "late": "capacity",
    "draining": "door",
    "connecting": "ports",
    "ports": "ports",
    "media": "ports",
    "toll": "rate",
}
"""Causes that a gateway's own log names, as far as they are no question of who may come in."""

_CODE = re.compile(r"(?:HTTP |webhook answered |^)(\d{3,4})\b")

CODES: dict[int, Limiter] = {
    429: "rate",
    480: "capacity",
    486: "capacity",
    503: "capacity",
    600: "capacity",
    1013: "capacity",
}
"""HTTP's, SIP's and WebSocket's answers that mean something else than a closed door."""

_OWN: tuple[tuple[str, Limiter], ...] = (
    ("Errno 99", "ports"),
    ("Errno 98", "ports"),
    ("no free port", "ports"),
    ("Errno 24", "files"),
    ("Errno 23", "files"),
)
"""What the callers' own machine ran out of, in the words of its errors."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that was turned away before anything was heard."""

    limiter: Limiter
    said: str


def own_limit(reason: str) -> Limiter | None:
    """Say what the callers' own machine ran out of, if that is why a call failed."""
    return next((limiter for words, limiter in _OWN if words in reason), None)


def refusal(reason: str, cause: str = "") -> Refused | None:
    """Tell a refusal from a failure; `cause` is the server's own word for it, where it is known."""
    if (own := own_limit(reason)) is not None:
        return Refused(own, reason)
    if cause:
        return Refused(CAUSES.get(cause, "door"), f"{reason} ({cause})")
    if "answered with reject busy" in reason:
        return Refused("capacity", reason)
    if "answered with" in reason:
        return Refused("door", reason)
    found = _CODE.search(reason)
    if found is None:
        return None
    code = int(found[1])
    if code in CODES:
        return Refused(CODES[code], reason)
    # 408 is nobody's answer; 5xx but 503 and close codes but 1008 are a server that broke.
    said_no = (400 <= code < 500 and code != 408) or code == 1008
    return Refused("door", reason) if said_no else None
