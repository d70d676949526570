"""Whether a call is placed that somebody asks for: what it costs is the operator's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from gateway.doors.allowance import Allowance
from gateway.doors.callees import allowed, plain

By = Literal["owner", "key", "refer"]
"""Who asks: the machine's owner, somebody with SIP_API_KEY, or the far side of a call."""


class Toll:
    """Decides by list and count; the line logs what is refused."""

    def __init__(self, patterns: Iterable[str], allowance: Allowance) -> None:
        self._patterns = tuple(patterns)
        self._allowance = allowance

    def problem(self, target: str, by: By, now: float) -> str | None:
        """Return why a call is not placed; None: it is, and counts."""
        if by != "owner":
            try:
                callee = plain(target)
            except ValueError as error:
                return str(error)
            if not allowed(callee, self._patterns):
                return f"{callee!r} is not among sip.dial"
        if not self._allowance.take(now):
            return f"{self._allowance.most} calls were placed in this hour (limits.placed_per_hour)"
        return None
