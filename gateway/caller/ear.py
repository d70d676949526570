"""Whether the agent is heard just now: what a caller goes by when it decides to speak."""

from __future__ import annotations

from gateway.caller.plan import AgentBegan, AgentSilent
from media.level import AUDIBLE_DB, level

PAUSE_SECONDS = 0.2
"""Pauses up to this are those inside words."""


class Ear:
    """Notices the agent's voice come and go, in steps of the pieces it is given."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._last: int | None = None
        "position after the last audible sample, while the agent is heard"

    def hear(self, pcm: bytes, start: int) -> AgentBegan | None:
        """Take sound that was heard."""
        if not pcm or level(pcm) < AUDIBLE_DB:
            return None
        began = self._last is None
        self._last = start + len(pcm) // 2
        return AgentBegan(start / self._rate) if began else None

    def pass_time(self, now: int) -> AgentSilent | None:
        """Take that all sound up to position `now` was given."""
        last = self._last
        if last is None or now - last < PAUSE_SECONDS * self._rate:
            return None
        self._last = None
        return AgentSilent(last / self._rate)
