"""Who may come in by which door: the one judgement that every HTTP path and socket asks.

Nobody is let in for where they seem to come from.
An address is the proxy's or the tunnel's, a `Host` is the browser's (which resolves any name to
this machine), and what a proxy tells of others is told by anybody: what counts is what is shown.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from gateway.doors.allowance import Allowance
from gateway.doors.table import Door, Who

Refusal = Literal["nothing shown", "wrong key", "foreign page"]


@dataclass(frozen=True, slots=True)
class Keys:
    """What opens doors by being shown."""

    owner: str = ""
    "empty: nobody is the owner"
    others: Mapping[Who, str] = field(default_factory=dict)
    "of programs, by what each is let in as; the lines' settings have them"

    def __repr__(self) -> str:
        return "Keys(...)"


class Doors:
    """Judges, and counts what is placed for others; knows no socket, no address, and no clock."""

    def __init__(self, keys: Keys, placed_per_hour: int = 100) -> None:
        self.allowance = Allowance(placed_per_hour)
        self._keys: tuple[tuple[Who, str], ...] = (("owner", keys.owner), *keys.others.items())

    def judge(
        self, door: Door, headers: Mapping[str, str], known: Collection[Who] = ()
    ) -> Who | None:
        """Say as whom a request comes in, or None; `known` is what the door's own line has found.

        `headers` are looked up in lower case.
        """
        if not door.pages and foreign(headers):
            return None
        shown = self._shown(headers)
        return next(
            (who for who in door.opens if who in ("everybody", shown) or who in known), None
        )

    def refusal(self, door: Door, headers: Mapping[str, str]) -> Refusal:
        """Return why a request did not come in."""
        if not door.pages and foreign(headers):
            return "foreign page"
        return "wrong key" if bearer_of(headers) else "nothing shown"

    def is_owner(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request shows the owner's token."""
        return self._shown(headers) == "owner"

    def key(self, purpose: str) -> bytes:
        """Return a key for signing, which all processes of the owner's have; empty: none has."""
        owner = self._keys[0][1]
        return hmac.digest(owner.encode(), purpose.encode(), hashlib.sha256) if owner else b""

    def _shown(self, headers: Mapping[str, str]) -> Who | None:
        shown = bearer_of(headers).encode("utf-8", "surrogateescape")
        if not shown:
            return None
        found: Who | None = None
        for who, key in self._keys:  # all of them, so that the time says nothing
            if key and hmac.compare_digest(shown, key.encode()):
                found = found or who
        return found


def bearer_of(headers: Mapping[str, str]) -> str:
    """Return the token that a request shows; empty: none."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def foreign(headers: Mapping[str, str]) -> bool:
    """Return whether a page of another host made a browser ask."""
    origin = headers.get("origin", "")
    if not origin:
        return False
    try:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    except ValueError:
        return True
