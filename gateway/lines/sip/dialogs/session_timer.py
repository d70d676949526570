"""When a session has to be refreshed, and when it is dead (RFC 4028)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gateway.lines.sip.message.message import Message, Request, Response, number, tokens

Refresher = Literal["uac", "uas"]
SMALLEST = 90
"""RFC 4028, section 5: no interval below 90 s."""
DEFAULT = 1800
"""RFC 4028, section 4.2: recommended, half an hour."""


@dataclass(frozen=True, slots=True)
class SessionExpires:
    """The Session-Expires header."""

    seconds: int
    refresher: Refresher | None = None

    @classmethod
    def of(cls, message: Message) -> SessionExpires | None:
        """Read it from a message; None when it has none that can be read."""
        text = message.headers.get("Session-Expires")
        match = re.match(r"\s*(\d{1,9})(.*)", text or "")
        if match is None:
            return None
        role = re.search(r";\s*refresher\s*=\s*(uac|uas)", match[2], re.IGNORECASE)
        refresher: Refresher | None = None
        if role:
            refresher = "uac" if role[1].lower() == "uac" else "uas"
        return cls(int(match[1]), refresher)

    def __str__(self) -> str:
        return f"{self.seconds}" + (f";refresher={self.refresher}" if self.refresher else "")


def min_se(message: Message) -> int:
    """Read Min-SE; 90 when there is none (RFC 4028, section 5)."""
    return number(message, "Min-SE") or SMALLEST


class SessionTimer:
    """The session interval of one dialog."""

    def __init__(self, wanted: int = DEFAULT, smallest: int = SMALLEST) -> None:
        self.wanted = wanted
        "seconds we ask for; 0: we ask for no timer, and accept one that is asked for"
        self.smallest = smallest
        self._interval = 0
        self._we_refresh = False
        self._refresh_at: float | None = None
        self._dead_at: float | None = None

    @property
    def deadline(self) -> float | None:
        """When `tick` has something to say."""
        times = [time for time in (self._refresh_at, self._dead_at) if time is not None]
        return min(times, default=None)

    @property
    def interval(self) -> int:
        """The agreed interval in seconds, 0 without one."""
        return self._interval

    # --- as the side that asks

    def ask(self, request: Request) -> None:
        """Put our wish on an INVITE or UPDATE (section 7.1 and 7.4)."""
        if not self._interval and not self.wanted:
            return
        seconds = max(self._interval or self.wanted, self.smallest)
        refresher: Refresher | None = None
        if self._interval:
            # The roles are of this transaction: its sender is the uac.
            refresher = "uac" if self._we_refresh else "uas"
        request.headers.set("Session-Expires", str(SessionExpires(seconds, refresher)))
        request.headers.set("Min-SE", str(self.smallest))

    def grow(self, response: Response) -> bool:
        """Take the Min-SE of a 422; False when it asks for nothing new (section 7.3)."""
        asked = min_se(response)
        if asked <= max(self._interval or self.wanted, self.smallest):
            return False
        self.smallest = asked
        self._interval = max(self._interval, asked) if self._interval else 0
        return True

    def answered(self, response: Response, now: float) -> None:
        """Take what the 2xx to our request says (section 7.2)."""
        expires = SessionExpires.of(response)
        if expires is None:
            self._stop()
            return
        # Without a refresher parameter it is us, who know the extension for certain.
        self._start(expires.seconds, expires.refresher != "uas", now)

    # --- as the side that is asked

    def too_small(self, request: Request) -> bool:
        """Whether a request has to be refused with 422 (section 9)."""
        expires = SessionExpires.of(request)
        return (
            expires is not None
            and expires.seconds < self.smallest
            and "timer" in tokens(request, "Supported")
        )

    def answer(self, request: Request, response: Response, now: float) -> None:
        """Decide interval and refresher, and write them on the 2xx (section 9)."""
        asked = SessionExpires.of(request)
        theirs = "timer" in tokens(request, "Supported")
        if asked is None and not self.wanted:
            self._stop()
            return
        least = max(self.smallest, min_se(request))
        seconds = max(asked.seconds if asked else self.wanted, least)
        if asked and self.wanted:
            seconds = max(least, min(seconds, max(self.wanted, least)))
        refresher: Refresher = "uas"
        if theirs:
            refresher = (asked.refresher if asked else None) or "uac"
        response.headers.set("Session-Expires", str(SessionExpires(seconds, refresher)))
        if refresher == "uac":
            # Section 9: the side that has to refresh must know that there is a timer.
            response.headers.set("Require", "timer")
        self._start(seconds, refresher == "uas", now)

    # --- time

    def tick(self, now: float) -> Literal["refresh", "dead"] | None:
        """Return what is due."""
        if self._dead_at is not None and now >= self._dead_at:
            self._stop()
            return "dead"
        if self._refresh_at is not None and now >= self._refresh_at:
            self._refresh_at = None
            return "refresh"
        return None

    def again(self, when: float) -> None:
        """Try a refresh that failed for the moment once more."""
        if self._interval:
            self._refresh_at = when

    def _start(self, seconds: int, we_refresh: bool, now: float) -> None:
        self._interval = seconds
        self._we_refresh = we_refresh
        # Section 10: refresh at half the interval; the session is dead a little before its end.
        self._refresh_at = now + seconds / 2 if we_refresh else None
        self._dead_at = now + seconds - min(32.0, seconds / 3)

    def _stop(self) -> None:
        self._interval = 0
        self._refresh_at = self._dead_at = None
