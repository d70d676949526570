"""What the arrival of packets says: their true order, what is missing, and how the path delays."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field

WINDOW_SECONDS = 1.0
"""How long a slow packet raises the target: short enough for the depth to be back, after that,
within two seconds of the end of a disturbance."""

BASE_SECONDS = 2.0
"""How long the quickest packet counts; longer ones would keep up with no change of route and with
clocks that drift apart."""

IGNORED_SHARE = 25
"""One packet in so many may be slower than the target allows for; concealing it costs less than
delaying all."""

FIRST_TARGET = 0.04
"""Before anything is known: two packets, enough for most networks."""

FIRST_PACKETS = 10
"""How many packets are needed to know something."""

MAX_DROPOUT = 3000
"""Jump of the sequence number that is a new start and not a loss (RFC 3550, appendix A.1)."""

MAX_MISORDER = 100
"""A packet so far behind the newest is a new start and not a late one (RFC 3550, appendix A.1)."""

MAX_SHIFT = 2.0
"""Seconds by which timestamps may disagree with the clock before they are a new start."""

REMEMBERED = 256
"""How far back duplicates are told from late packets: five seconds of packets."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What came in so far, as RFC 3550 counts it (section 6.4.1) and a little more."""

    received: int
    "packets, duplicates included"
    expected: int
    highest: int
    "extended highest sequence number"
    jitter: float
    "interarrival jitter in clock units"
    late: int
    "came after their place was played"
    stretched: float = 0.0
    "packets of sound made up where none was missing: who plays ran dry, and went on behind it"

    @property
    def lost(self) -> int:
        """Packets that never came; as in RFC 3550, duplicates make it smaller."""
        return self.expected - self.received


@dataclass(slots=True)
class Timing:
    """What arrivals say about the path: the quickest way, and how much slower others are."""

    rate: int
    _base: deque[tuple[float, float]] = field(default_factory=deque)
    "arrival and transit, transits rising: the first is the least of the window"
    _recent: deque[tuple[float, float]] = field(default_factory=deque)
    _ordered: list[float] = field(default_factory=list)
    "transits of `_recent`, from the quickest to the slowest"
    jitter: float = 0.0
    _last: float | None = None

    def note(self, timestamp: int, arrival: float) -> None:
        """Take a packet's extended timestamp and its time of arrival."""
        transit = arrival - timestamp / self.rate
        if self._last is not None:
            # RFC 3550, section 6.4.1: J(i) = J(i-1) + (|D(i-1,i)| - J(i-1))/16
            self.jitter += (abs(transit - self._last) * self.rate - self.jitter) / 16
        self._last = transit
        while self._base and self._base[-1][1] >= transit:
            self._base.pop()
        self._base.append((arrival, transit))
        while self._base[0][0] < arrival - BASE_SECONDS:
            self._base.popleft()
        self._recent.append((arrival, transit))
        insort(self._ordered, transit)
        while self._recent[0][0] < arrival - WINDOW_SECONDS:
            _, old = self._recent.popleft()
            del self._ordered[bisect_left(self._ordered, old)]

    @property
    def base(self) -> float:
        """Transit of the quickest packet: loop seconds minus seconds of stream."""
        return self._base[0][1]

    def target(self, shortest: float, longest: float) -> float:
        """Return the depth that nearly all recent packets would have needed."""
        count = len(self._recent)
        if count < FIRST_PACKETS:
            return max(FIRST_TARGET, shortest)
        needed = self._ordered[count - 1 - count // IGNORED_SHARE] - self.base
        return min(max(needed, shortest), longest)

    @property
    def known(self) -> bool:
        """Whether any packet has come on this path."""
        return bool(self._base)

    def is_off(self, timestamp: int, arrival: float) -> bool:
        """Return whether the sender went on with timestamps that have nothing to do with before."""
        return self.known and abs(arrival - timestamp / self.rate - self.base) > MAX_SHIFT

    def restart(self) -> None:
        """Forget the path, keep the jitter figure."""
        self._base.clear()
        self._recent.clear()
        self._ordered.clear()
        self._last = None


class Order:
    """Puts 16- and 32-bit numbers on lines that do not wrap, and counts."""

    def __init__(self) -> None:
        self.late = self.received = 0
        self.stretched = 0.0
        self.highest = 0
        """extended sequence number"""
        self._first: int | None = None
        self._stamp = 0
        self._suspect: int | None = None
        self._seen: set[int] = set()
        # Packets expected before the last new start.
        self._earlier = 0

    def place(self, sequence: int, timestamp: int) -> tuple[int, int, bool] | None:
        """Extend both numbers; the flag tells a new start.

        None for a packet far out of order, unless the next one follows it
        (RFC 3550, appendix A.1: a restarted source).
        """
        if self._first is None:
            # One cycle up, so that packets from before the first one have numbers too.
            self._first = self.highest = sequence + (1 << 16)
            self._stamp = timestamp
            return self.highest, timestamp, False
        number = extend(sequence, self.highest, 16)
        stamp = extend(timestamp, self._stamp, 32)
        fresh = False
        if not -MAX_MISORDER < number - self.highest <= MAX_DROPOUT:
            if self._suspect != sequence:
                self._suspect = (sequence + 1) & 0xFFFF
                return None
            self._earlier += self.highest - self._first + 1
            # Far ahead of all that was, so that nothing old is taken for a part of it.
            number += 1 << 17
            self._first = number
            self._seen.clear()
            fresh = True
        self._suspect = None
        self._first = min(self._first, number)
        if number > self.highest:
            self.highest, self._stamp = number, stamp
        return number, stamp, fresh

    def is_new(self, number: int) -> bool:
        """Count a packet; False if it came before."""
        self.received += 1
        if number in self._seen:
            return False
        self._seen.add(number)
        if len(self._seen) > 2 * REMEMBERED:
            self._seen = {one for one in self._seen if one > self.highest - REMEMBERED}
        return True

    def counts(self, jitter: float) -> Counts:
        """Return all counts."""
        expected = self._earlier
        if self._first is not None:
            expected += self.highest - self._first + 1
        return Counts(
            self.received,
            expected,
            self.highest,
            jitter,
            self.late,
            self.stretched,
        )


def extend(value: int, near: int, bits: int) -> int:
    """Return the number nearest to `near` that ends in `value`."""
    half = 1 << (bits - 1)
    return near + ((value - near + half) & ((1 << bits) - 1)) - half
