"""Whose packets are believed, and where ours go: symmetric RTP that cannot be taken over.

Who has the key is believed before anybody; then the very address of the description; then its host
and the signalling's, from any port; and others after several packets in sequence.
Whoever is believed more takes the stream at once from who is believed less, so that somebody who
sprays packets at all ports before the far end sends its first loses the stream to that first.
Among equals only a new description or a long silence opens it again.

A description that names another address ends what was: ours go there at once, and who was heard
before is heard for as long as nobody else is, since words are still on their way, but is never
again sent to.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.lines.rtp.destination import is_nowhere

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


@dataclass(frozen=True, slots=True)
class _Former:
    """Where a stream was before a new description."""

    heard: Address
    named: Address
    "by the description of then"
    since: float


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
        self._former: _Former | None = None
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

    def expect(self, expected: Address, now: float) -> None:
        """Take the address of a new description; an unchanged one changes nothing."""
        if expected == self._expected:
            return
        if self._locked is not None:
            self._former = _Former(self._locked, self._expected, now)
        if self._former is not None and expected in (self._former.heard, self._former.named):
            self._former = None
        self._expected = expected
        self._locked = self._candidate = None

    def admits(
        self, source: Address, ssrc: int, sequence: int, now: float, *, proven: bool = False
    ) -> bool:
        """Return whether a packet is believed; `proven`: it was encrypted with the right key."""
        former = self._former
        if former is not None and source == former.heard and not self._stayed(former, now):
            return self._locked is None
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

    def _stayed(self, former: _Former, now: float) -> bool:
        """Whether who was heard before is the far end still, whatever its description says.

        That is a telephone behind a NAT, which tells the port that it has inside: it was never
        where it said, says the same host as before, and nobody else is heard.
        """
        return (
            self._locked in (None, former.heard)
            and former.heard[0] != former.named[0]
            and former.named[0] == self._expected[0]
            and not is_nowhere(self._expected[0])
            and now - former.since > REOPEN_SECONDS
        )

    def _trust_in(self, source: Address, proven: bool) -> int:
        if proven:
            return 3
        if source == self._expected:
            return 2
        return 1 if source[0] in (self._expected[0], self._signalling) else 0

    def _lock(self, source: Address, trust: int, now: float) -> bool:
        self._locked, self._trust, self._candidate, self._last = source, trust, None, now
        return True
