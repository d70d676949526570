"""How much those may call who show no pass: by page, by address, at once and in an hour."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass

from gateway.lines.webrtc.settings import WebrtcSettings

HOUR = 3600.0

ADDRESSES_MOST = 10_000
"""Addresses remembered; the one that called longest ago is forgotten first."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who calls without a pass."""

    origin: str
    address: str


class PublicLimits:
    """Counts calls; is given the time."""

    def __init__(self, settings: WebrtcSettings) -> None:
        self._settings = settings
        self._origins: Counter[str] = Counter()
        self._addresses: Counter[str] = Counter()
        self._begun: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, visitor: Visitor, now: float) -> int | None:
        """Return after how many seconds to try again; None: the call may come now."""
        chosen = self._settings
        if (
            self._origins.total() >= chosen.public_calls
            or self._origins[visitor.origin] >= chosen.public_per_origin
            or self._addresses[visitor.address] >= chosen.public_per_address
        ):
            return 15  # somebody's call must end first, and nobody knows when
        begun = self._begun.get(visitor.address)
        while begun and begun[0] <= now - HOUR:
            begun.popleft()
        if begun and len(begun) >= chosen.public_per_hour:
            return max(1, round(begun[0] + HOUR - now))
        return None

    def begin(self, visitor: Visitor, now: float) -> None:
        """Count a call that begins."""
        self._origins[visitor.origin] += 1
        self._addresses[visitor.address] += 1
        self._begun.setdefault(visitor.address, deque(maxlen=self._settings.public_per_hour))
        self._begun[visitor.address].append(now)
        self._begun.move_to_end(visitor.address)
        if len(self._begun) > ADDRESSES_MOST:
            self._begun.popitem(last=False)

    def undo(self, visitor: Visitor) -> None:
        """Take back a `begin`: the call could not be."""
        self.end(visitor)
        begun = self._begun.get(visitor.address)
        if begun:
            begun.pop()

    def end(self, visitor: Visitor) -> None:
        """Count a call that is over."""
        for counter, name in ((self._origins, visitor.origin), (self._addresses, visitor.address)):
            counter[name] -= 1
            if counter[name] <= 0:
                del counter[name]
