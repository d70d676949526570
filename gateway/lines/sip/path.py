"""Whether anything shows that the far end of a call hears what is sent to it.

SIP says where sound is to go and not whether anybody is there; what comes from there is the only
sign, and RTCP where the far end speaks it.
"""

from __future__ import annotations

from media.playout import Playout

PATH_SECONDS = 1.0
"""How long a call waits for the first packet of its far end: what is sent before goes where the
description says, which may be an address behind a NAT, of nobody. Who has nothing to say until it
is spoken to is spoken to then."""

DOUBT_AFTER = 0.1
"""Seconds without a packet of a far end from which on nothing shows that it hears us."""

SURE_AFTER = 0.3
"""Seconds of its packets after which it hears us again: what is sent now is still on its way."""

UNKNOWN_WAY = 0.15
"""Seconds, as long as no round trip was measured: the limit for good calls (ITU-T G.114)."""


class Path:
    """Tells the ledger whether anything shows that the far end is there."""

    def __init__(self, playout: Playout, now: float) -> None:
        self._playout = playout
        self._until = now + PATH_SECONDS
        self._waits = self._doubts = False
        self._quiet = now
        "when there was last nothing that showed it"

    def begin(self, now: float) -> None:
        """Let what there is to say wait until it is known where the path leads."""
        self._until = now + PATH_SECONDS
        self._waits = True
        self._playout.hold("path")

    def look(self, heard: float | None, since: float, round_trip: float | None, now: float) -> None:
        """Take when the far end was heard last; `since`: when it could first have been."""
        if self._waits and (heard is not None or now > self._until):
            self._waits = False
            self._playout.resume("path")
        if now - (since if heard is None else heard) > DOUBT_AFTER:
            self._quiet = now
        doubts = now - self._quiet < SURE_AFTER
        if doubts != self._doubts:
            self._doubts = doubts
            way = UNKNOWN_WAY if round_trip is None else round_trip / 2
            proven = since if heard is None else heard - way
            self._playout.doubt(proven if doubts else None)
