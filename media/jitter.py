"""When packets of sound that come early, late, twice, out of order or never are to be heard.

Depth is the time by which a sample is played later than it could be if every packet came as
quickly as the quickest of the last seconds; the buffer aims at the depth that nearly all recent
packets would have needed.
It grows only when it must (the buffer ran empty), and shrinks when who plays it makes packets
shorter where `Packet.excess` says so.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from media.arrivals import FIRST_TARGET, Counts, Order, Timing

SHORTEST_TARGET = 0.02
"""One packet, since two clocks that tick every 20 ms are out of step by up to that."""

LONGEST_TARGET = 0.2
"""Longer is felt worse than what is lost (ITU-T G.114)."""

LONGEST_LAG = 0.5
"""A hiccup of up to this is played late and caught up with, and loses no words."""

GIVE_UP_SECONDS = 0.1
"""An empty buffer for so long is a pause, and the next packet a new start; by then concealment
has faded out."""

TICK_TOLERANCE = 0.001
"""Seconds by which a tick may be early without waiting for the next one."""


@dataclass(frozen=True, slots=True)
class Packet:
    """Sound to be played now."""

    sequence: int
    "extended: it does not wrap"
    timestamp: int
    "extended, in clock units"
    payload: bytes
    samples: int
    excess: float
    "seconds of depth above the target: play this shorter, as far as can be done unheard"


@dataclass(frozen=True, slots=True)
class Lost:
    """Sound that is missing and ought to be concealed."""

    samples: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is no sound: the far side is silent, or has not begun."""

    samples: int


Playable = Packet | Lost | Nothing


class JitterBuffer:
    """Orders packets and decides what is played; one for each stream, on one clock.

    It knows nothing of codecs: whoever pulls decodes, conceals and shortens.
    """

    def __init__(
        self,
        rate: int,
        frame: int | None = None,
        *,
        shortest: float = SHORTEST_TARGET,
        longest: float = LONGEST_TARGET,
    ) -> None:
        """Begin empty; `rate` is the RTP clock, `frame` (None: 20 ms) the usual packet in units
        of it, `shortest` and `longest` bound the target depth in seconds."""
        self._rate = rate
        self._frame = frame or rate // 50
        self._bounds = (shortest, longest)
        self._timing = Timing(rate)
        self._order = Order()
        self._waiting: list[Packet] = []
        self._cursor: int | None = None
        """extended timestamp of the sample to be played next; None while there is a pause"""
        self._played = -1
        """extended number of the last packet taken out"""
        self._owed = 0
        """samples concealed while nothing was there, the place of which is not yet known"""
        self._dried: tuple[int, int] | None = None
        """the cursor of a stream that ran dry and was given up, and what it was owed"""
        self.target = max(FIRST_TARGET, shortest)
        """depth aimed at, in seconds"""

    # --- in ----------------------------------------------------------------------------------

    def push(
        self,
        sequence: int,
        timestamp: int,
        payload: bytes,
        arrival: float,
        samples: int | None = None,
    ) -> bool:
        """Take a packet off the wire; False if it is of no use (late, twice, or out of all order).

        `sequence` and `timestamp` are as sent, 16 and 32 bits.
        `samples` is the payload's length in clock units (None: the usual); with 0 (comfort noise,
        keys) it only keeps the count, and nothing is played in its place.
        """
        placed = self._order.place(sequence, timestamp)
        if placed is None:
            return False
        number, stamp, fresh = placed
        if fresh:
            self._restart()
            self._played = -1
        length = self._frame if samples is None else samples
        if length:
            if self._timing.is_off(stamp, arrival):
                if number < self._order.highest:
                    return False
                self._restart()
            self._timing.note(stamp, arrival)
            self.target = self._timing.target(*self._bounds)
        if not self._order.is_new(number):
            return False
        if number <= self._played or (length and self._is_past(stamp + length)):
            self._order.late += bool(length)
            return False
        insort(self._waiting, Packet(number, stamp, payload, length, 0.0), key=_number)
        self._drop_hopeless(arrival)
        return True

    def _is_past(self, end: int) -> bool:
        """Return whether the place of what ends there was filled with something else."""
        return self._cursor is not None and end <= self._cursor

    def _restart(self) -> None:
        """Begin anew with a sender that went on with other numbers."""
        self._timing.restart()
        self._waiting.clear()
        self._pause()

    def _pause(self) -> None:
        self._cursor = self._dried = None
        self._owed = 0

    def _drop_hopeless(self, now: float) -> None:
        """Keep the buffer bounded: what could only be played far too late is not played."""
        while self._timing.known and self._lag(self._waiting[0].timestamp, now) > LONGEST_LAG:
            if len(self._waiting) == 1:
                return
            dropped = self._waiting.pop(0)
            self._played = dropped.sequence
            self._order.late += bool(dropped.samples)
            if self._cursor is not None:
                self._cursor = max(self._cursor, dropped.timestamp + dropped.samples)

    def _lag(self, timestamp: int, now: float) -> float:
        """Return how deep the buffer is if `timestamp` is played now."""
        return now - timestamp / self._rate - self._timing.base

    # --- out ---------------------------------------------------------------------------------

    def pull(self, now: float) -> Playable:
        """Return the next piece of sound, or say what to play instead and for how long.

        To be asked whenever what was given before does not last until the next tick; `now` is
        when the piece will begin to be played.
        """
        self._pass_over()
        if self._cursor is None and not self._begin(now):
            return Nothing(self._frame)
        cursor = self._cursor
        assert cursor is not None
        if not self._waiting:
            return self._run_dry()
        head = self._waiting[0]
        # What was concealed already was in the place of what now turns out to be missing.
        cursor += self._settle(cursor, self._owed)
        self._owed = 0
        if head.timestamp > cursor:
            return self._fill(head, cursor)
        if not head.samples:
            self._cursor = cursor
            return self.pull(now)
        return self._play(now)

    def _play(self, now: float) -> Packet:
        head = self._waiting.pop(0)
        self._played = head.sequence
        self._cursor = head.timestamp + head.samples
        # Pulls fall anywhere within a packet's time, so less than one is no excess.
        excess = self._lag(head.timestamp, now) - self.target - self._frame / self._rate
        if excess <= 0:
            return head
        return Packet(head.sequence, head.timestamp, head.payload, head.samples, excess)

    def _pass_over(self) -> None:
        """Take out packets without sound that are due; if nothing follows, speech has paused."""
        while self._waiting and self._waiting[0].samples == 0:
            head = self._waiting[0]
            missing = self._played >= 0 and head.sequence > self._played + 1
            if missing and self._cursor is not None and head.timestamp > self._cursor:
                return
            self._waiting.pop(0)
            self._played = head.sequence
            if not self._waiting:
                self._pause()

    def _begin(self, now: float) -> bool:
        """Start playing as soon as the first packet is as old as the target wants."""
        if not self._waiting:
            return False
        head = self._waiting[0]
        if self._lag(head.timestamp, now) < self.target - TICK_TOLERANCE:
            return False
        if self._dried is not None:
            self._settle(*self._dried)
            self._dried = None
        self._cursor = head.timestamp
        self._owed = 0
        return True

    def _settle(self, cursor: int, owed: int) -> int:
        """Return how much of what was made up lies before the next packet; the rest damaged it."""
        covered = max(0, min(self._waiting[0].timestamp - cursor, owed))
        self._order.stretched += (owed - covered) / self._frame
        return covered

    def _run_dry(self) -> Playable:
        """Conceal without moving on: what is missing may be late, and loses nothing then."""
        if self._owed >= GIVE_UP_SECONDS * self._rate:
            assert self._cursor is not None
            dried = (self._cursor, self._owed)
            self._pause()
            self._dried = dried
            return Nothing(self._frame)
        self._owed += self._frame
        return Lost(self._frame)

    def _fill(self, head: Packet, cursor: int) -> Playable:
        """Play something up to the next packet: by its number there was silence, or loss."""
        gap = head.timestamp - cursor
        length = min(gap, self._frame)
        self._cursor = cursor + length
        if gap > GIVE_UP_SECONDS * self._rate:
            self._pause()
        silent = head.sequence == self._played + 1
        return Nothing(length) if silent else Lost(length)

    @property
    def following(self) -> bytes | None:
        """The payload that continues right behind what was given last, if it is here already."""
        head = self._waiting[0] if self._waiting else None
        if head is None or not head.samples or head.timestamp != self._cursor or self._owed:
            return None
        return head.payload

    # --- figures -----------------------------------------------------------------------------

    def depth(self, now: float) -> float:
        """Return by how much playing lags behind the quickest packets, in seconds; 0 in a pause.

        `now` is when the next sample is played.
        """
        return 0.0 if self._cursor is None else self._lag(self._cursor, now)

    @property
    def waiting(self) -> int:
        """Packets in the buffer."""
        return len(self._waiting)

    @property
    def counts(self) -> Counts:
        """What came in so far."""
        return self._order.counts(self._timing.jitter)


def _number(packet: Packet) -> int:
    return packet.sequence
