"""Who is listened to at all: decided by address and count, before a byte is parsed."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from gateway.lines.sip.message.address import unmapped

ANSWER_SECONDS = 600.0
"""How long somebody is heard to whom we sent a request: registrations and sessions are renewed
twice within it, and what they ask of us is judged like anybody's."""

MAX_SOURCES = 4096
"""Addresses remembered; a flood from invented ones pushes out the oldest."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Guard:
    """Admits datagrams and connections by source."""

    def __init__(
        self,
        networks: Iterable[str] = (),
        *,
        rate: float = 200.0,
        burst: float = 400.0,
        connections: int = 64,
    ) -> None:
        """Allow `networks` (none: everybody); `rate` is messages per second and source."""
        self._networks = [ipaddress.ip_network(text, strict=False) for text in networks]
        self._rate, self._burst = rate, burst
        self._most = connections
        self._known: OrderedDict[str, bool] = OrderedDict()
        self._asked: OrderedDict[str, float] = OrderedDict()
        "to whom we sent requests, and when the last one left"
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._open: dict[str, int] = {}
        self.dropped = 0

    def allows(self, host: str) -> bool:
        """Return whether an address belongs to an allowed network."""
        if not self._networks:
            return True
        known = self._known.get(host)
        if known is None:
            try:
                address = ipaddress.ip_address(host.partition("%")[0])
            except ValueError:
                return False
            known = any(unmapped(address) in network for network in self._networks)
            self._known[host] = known
            if len(self._known) > MAX_SOURCES:
                self._known.popitem(last=False)
        return known

    def asked(self, host: str, now: float) -> None:
        """Take that a request goes to an address, whose answers are then heard."""
        if not self._networks:
            return
        self._asked[host] = now
        self._asked.move_to_end(host)
        if len(self._asked) > MAX_SOURCES:
            self._asked.popitem(last=False)

    def _answers(self, host: str, now: float) -> bool:
        return now - self._asked.get(host, float("-inf")) < ANSWER_SECONDS

    def admits(self, host: str, now: float) -> bool:
        """Return whether one more message from this source is taken."""
        if not (self.allows(host) or self._answers(host, now)):
            self.dropped += 1
            return False
        bucket = self._buckets.get(host)
        if bucket is None:
            bucket = self._buckets[host] = _Bucket(self._burst, now)
            if len(self._buckets) > MAX_SOURCES:
                self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.tokens < 1.0:
            self.dropped += 1
            return False
        bucket.tokens -= 1.0
        return True

    def connected(self, host: str) -> bool:
        """Count a connection that opens; False when it has to be closed."""
        if not self.allows(host) or self._open.get(host, 0) >= self._most:
            self.dropped += 1
            return False
        self._open[host] = self._open.get(host, 0) + 1
        return True

    def disconnected(self, host: str) -> None:
        """Count a connection that closes."""
        left = self._open.get(host, 0) - 1
        if left > 0:
            self._open[host] = left
        else:
            self._open.pop(host, None)
