"""Whose packets are believed, and where ours go: symmetric RTP that cannot be taken over.

Who has the key is believed before anybody; then the very address of the description; then its host
and the signalling's, from any port; and others after several packets in sequence.
Whoever is believed more takes the stream at once from who is believed less, so that somebody who
sprays packets at all ports before the far end sends its first loses the stream to that first.
Among equals only a new description or a long silence opens it again.
"""

from __future__ import annotations

from dataclasses import dataclass

Address = tuple[str, int]

PROBATION = 4
"""Packets in sequence from an unexpected address; a port scan does not send them."""
REOPEN_SECONDS = 3.0
"""A far end that is silent for so long may have moved (a phone that changes networks)."""


@dataclass(slots=True)
class _Candidate:
    address: Address
    ssrc: int
    sequence: int
    count: int = 1


class Latch:
    """Decides for one stream."""

    def __init__(self, expected: Address, signalling: str) -> None:
        self._expected = expected
        self._signalling = signalling
        self._locked: Address | None = None
        self._trust = 0
        "of who is locked"
        self._candidate: _Candidate | None = None
        self._last = float("-inf")
        self.strangers = 0
        "packets that were not believed"

    @property
    def target(self) -> Address:
        """Where to send: to whom we hear, else where the description says."""
        return self._locked or self._expected

    @property
    def locked(self) -> bool:
        """Whether the far end was heard."""
        return self._locked is not None

    def expect(self, expected: Address) -> None:
        """Take the address of a new description; an unchanged one changes nothing."""
        if expected != self._expected:
            self._expected = expected
            self._locked = self._candidate = None

    def admits(
        self, source: Address, ssrc: int, sequence: int, now: float, *, proven: bool = False
    ) -> bool:
        """Say whether a packet is believed; `proven`: it was encrypted with the right key."""
        if source == self._locked and not (proven and self._trust < 3):
            self._last = now
            return True
        trust = self._trust_in(source, proven)
        if self._locked is not None and trust <= self._trust:
            same_host = source[0] == self._locked[0]
            if now - self._last < REOPEN_SECONDS or not (same_host or proven):
                self.strangers += 1
                return False
        if trust:
            return self._lock(source, trust, now)
        candidate = self._candidate
        if (
            candidate is None
            or candidate.address != source
            or candidate.ssrc != ssrc
            or (sequence - candidate.sequence) & 0xFFFF != 1
        ):
            self._candidate = _Candidate(source, ssrc, sequence)
            return False
        candidate.sequence = sequence
        candidate.count += 1
        return candidate.count >= PROBATION and self._lock(source, trust, now)

    def _trust_in(self, source: Address, proven: bool) -> int:
        if proven:
            return 3
        if source == self._expected:
            return 2
        return 1 if source[0] in (self._expected[0], self._signalling) else 0

    def _lock(self, source: Address, trust: int, now: float) -> bool:
        self._locked, self._trust, self._candidate, self._last = source, trust, None, now
        return True
