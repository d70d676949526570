"""What the far side of a line is doing with the sound that was sent to it.

One model serves every line: the far side plays what arrives in order, each frame from the moment
it is there and its predecessor is over.
Marks and reports say when a frame was really over, and move the rest of the model with it.
They are the only proof that somebody hears, since a path that breaks says nothing: where they are
to come, all that the model has played since the latest one is in doubt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import ceil

KEEP_SECONDS = 3.0
"""How long sound that should have been heard is kept, in case a late mark says it was not, or the
line finds that nobody was there: a page is missed after two seconds without a report."""

UNKNOWN_DELAY = 0.25
"""Bound on the one-way delay before anything was measured: ITU-T G.114 has 150 ms as the limit
for good calls, and a far-end buffer comes on top."""

BUFFER_DOUBT = 0.06
"""Far-end jitter buffers hold some 20 to 60 ms and do not say how much."""

JITTER_DOUBT = 0.02
"""Delay may change by this much from one mark to the next before anything shows it: one frame,
the jitter of an ordinary path."""

ROUND_TRIPS = 64
"""Marks over which the shortest round trip is taken: the speech of a few seconds."""

DRIFT_FADE = 0.95
"""Per mark; a late mark widens the error bound for about the next twenty."""

ROUNDING = 1e-4
"""Seconds, below one sample: float clocks may disagree by this much without meaning anything."""


class Utterance:
    """One utterance's sound that has not left, and its counts in samples."""

    __slots__ = (
        "acked",
        "began",
        "buffer",
        "ended",
        "first",
        "heard",
        "id",
        "last",
        "order",
        "queued",
        "sent",
        "taken",
    )

    def __init__(self, utterance: int, order: int) -> None:
        """Begin empty; `order` counts utterances in the order they are played."""
        self.id = utterance
        self.order = order
        self.buffer = bytearray()
        self.queued = self.sent = self.heard = self.acked = 0
        self.ended = self.began = False
        # How far it had been sent when it was taken back: it may have been heard so far.
        self.taken = 0
        # Loop seconds at which the first sample, and the last one sent so far, are heard.
        self.first = self.last = 0.0


class Flight:
    """A frame that left: where it belongs, and when the far side plays it."""

    __slots__ = ("begins", "content", "due", "end", "ends", "sent_at", "start", "whose")

    def __init__(self, whose: Utterance, end: int, content: bytes, sent_at: float) -> None:
        """Note that the sound up to `end` leaves; `content` is not ducked and not padded."""
        self.whose = whose
        self.start = whose.sent
        self.end = end
        self.content = content
        self.sent_at = sent_at
        # When it would be over if the path took no time.
        self.due = 0.0
        self.begins = self.ends = 0.0


class Path:
    """The delay of the way there and back, as far as marks and reports tell."""

    __slots__ = ("back", "doubt", "drift", "forward", "reported", "trips")

    def __init__(self, latency: float) -> None:
        """Assume a one-way delay in seconds."""
        self.forward = self.back = latency
        self.doubt = max(UNKNOWN_DELAY, latency)
        self.drift = 0.0
        self.reported = False
        self.trips: deque[float] = deque(maxlen=ROUND_TRIPS)

    @property
    def measured(self) -> bool:
        """Whether the far side ever said anything."""
        return self.reported or bool(self.trips)

    def assume(self, latency: float, error: float | None) -> None:
        """Take a one-way delay from elsewhere."""
        self.forward = self.back = max(0.0, latency)
        self.doubt = latency + BUFFER_DOUBT if error is None else error

    def round_trip(self, seconds: float) -> None:
        """Take a round trip; waiting at the far side only ever lengthens it, so the least counts.

        How it is split between the two ways cannot be seen from here: half is the best guess,
        and the doubt covers all of it on either way.
        """
        self.trips.append(max(0.0, seconds))
        self.forward = self.back = min(self.trips) / 2

    def moved(self, seconds: float) -> None:
        """Note how far a mark was from where the model had it."""
        self.drift = max(abs(seconds), self.drift * DRIFT_FADE)
        self.doubt = self.back + self.drift + JITTER_DOUBT


class FarSide:
    """Models one far side; says what it has played, and keeps what may have to be taken back."""

    def __init__(self, rate: int, frame: int, latency: float, *, marks: bool) -> None:
        """Begin with nothing sent; `frame` is samples; `marks` says whether echoes come back."""
        self.path = Path(latency)
        self.marks = marks
        self.underruns = 0
        # Until when there is sound at a far side without delay: what sending is paced by.
        self.due = 0.0
        self._rate = rate
        self._seconds = frame / rate
        self._cursor = 0.0
        self._excused = True
        self._flights: deque[Flight] = deque()
        self._done = 0
        # The utterance of the latest report, and by how much it lagged at the least.
        self._least = (-1, 0.0)
        # Seconds by which reports fell behind that: the ear stood still while we went on.
        self._slipped = 0.0

    def start(self, now: float, slack: float) -> bool:
        """Begin a new run of sound unless the present one is at most `slack` seconds over."""
        begins = self.due < now - slack
        if begins:
            self.due = now
        return begins

    def excuse(self) -> None:
        """The next gap is wanted, and no underrun."""
        self._excused = True

    def send(self, flight: Flight) -> None:
        """Take the next frame."""
        whose = flight.whose
        self.due = flight.due = self.due + self._seconds
        earliest = flight.sent_at + self.path.forward
        if earliest > self._cursor + self._seconds and flight.start and not self._excused:
            self.underruns += 1
        self._excused = False
        flight.begins = max(earliest, self._cursor)
        self._cursor = flight.ends = flight.begins + self._seconds
        if flight.start == 0:
            whose.first = flight.begins
        whose.last = flight.begins + (flight.end - flight.start) / self._rate
        whose.sent = flight.end
        self._flights.append(flight)

    def advance(self, now: float) -> None:
        """Count as heard what the model has played by `now`."""
        flights = self._flights
        count = len(flights)
        while self._done < count and flights[self._done].ends <= now + ROUNDING:
            done = flights[self._done]
            done.whose.heard = max(done.whose.heard, done.end)
            self._done += 1
        if self._done < count:
            current = flights[self._done]
            played = int((now - current.begins) * self._rate + 0.5)
            if played > 0:
                reached = min(current.start + played, current.end)
                current.whose.heard = max(current.whose.heard, reached)
        while self._done and flights[0].ends < now - KEEP_SECONDS:
            flights.popleft()
            self._done -= 1

    def error(self, whose: Utterance, *, proves: bool) -> int:
        """Bound the error of an utterance's heard figure, in samples; `proves`: marks or reports
        are to come."""
        doubt = ceil(self.path.doubt * self._rate) + 1
        unproven, ahead = whose.heard - whose.acked, whose.sent - whose.heard
        bound = max(min(doubt, max(unproven, ahead)), whose.taken - whose.heard)
        if not proves:
            return bound
        # A path that comes back plays what leaves now, and never what it lost.
        missed = min(ahead, doubt + ceil(self._slipped * self._rate))
        return max(bound, unproven, missed)

    def acknowledge(self, whose: Utterance, end: int, now: float) -> None:
        """Take the echo of a mark that arrived at `now`: all up to `end` was played."""
        first = last = None
        while self._flights and _is_up_to(self._flights[0], whose, end):
            last = self._flights.popleft()
            last.whose.acked = max(last.whose.acked, last.end)
            last.whose.heard = max(last.whose.heard, last.end)
            self._done = max(0, self._done - 1)
            first = first or last
            if last.start == 0:
                first = last
        whose.acked = max(whose.acked, end)
        whose.heard = max(whose.heard, end)
        if first is None or last is None or last.whose is not whose or last.end != end:
            return
        self.path.round_trip(now - last.due)
        over = now - self.path.back
        moved = over - last.ends
        self.path.moved(moved)
        if first.start == 0:
            first.whose.first = first.begins + moved
        whose.last = over
        self._replay(over)

    def report(self, whose: Utterance, heard: int, now: float, error: int) -> None:
        """Take a position that the far side itself measured, within `error` samples."""
        heard = min(heard, whose.sent)
        while self._flights and _is_up_to(self._flights[0], whose, heard):
            passed = self._flights.popleft()
            passed.whose.heard = max(passed.whose.heard, passed.end)
            self._done = max(0, self._done - 1)
        whose.acked = max(whose.acked, heard - error)
        whose.heard = max(whose.heard, heard)
        self.path.reported = True
        self.path.doubt = error / self._rate
        lag = now - heard / self._rate
        least = min(lag, self._least[1]) if self._least[0] == whose.order else lag
        self._least, self._slipped = (whose.order, least), lag - least
        if self._flights and self._flights[0].whose is whose:
            current = self._flights[0]
            begins = now - max(0, heard - current.start) / self._rate
            self.path.forward = max(0.0, min(self.path.forward, begins - current.sent_at))
            self._replay(begins)

    def prove(self, whose: Utterance, since: float) -> None:
        """Take that somebody heard what was played by `since`, and nothing shows what of later."""
        proven = whose.heard
        for flight in self._flights:
            if flight.whose is whose and flight.ends > since:
                played = int((since - flight.begins) * self._rate)
                proven = min(proven, flight.start + max(0, played))
                break
        whose.acked = max(whose.acked, proven)

    def assume(self, latency: float, error: float | None) -> None:
        """Take another one-way delay, unless the far side told more; what is under way moves."""
        if self.path.measured:
            return
        self.path.assume(latency, error)
        if self._flights:
            self._replay(self._flights[0].due - self._seconds + self.path.forward)

    def measured(self, latency: float, error: float) -> None:
        """Take the one-way delay that the far side measured just now, whatever it was before."""
        self.path.reported = True
        self.path.forward = self.path.back = max(0.0, latency)
        self.path.doubt = error

    def until_clear(self, now: float) -> float:
        """Count as played what a `clear` sent now comes too late for; say when it arrives."""
        reached = now + self.path.forward
        self.advance(reached)
        return reached

    def empty(self, now: float) -> Iterator[tuple[Utterance, bytes]]:
        """Yield what a `clear` sent now takes back, newest first; the far side is empty then."""
        reached = self.until_clear(now)
        for flight in reversed(self._flights):
            whose = flight.whose
            if flight.end <= whose.heard:
                continue
            keep = max(0, whose.heard - flight.start)
            width = len(flight.content) // (flight.end - flight.start)
            whose.sent = flight.start + keep
            yield whose, flight.content[keep * width :]
        self._flights.clear()
        self._done = 0
        self._cursor = reached
        self.due = now
        self._excused = True

    def lost(self, since: float) -> Iterator[tuple[Utterance, bytes]]:
        """Yield what was to be heard after `since`, newest first: nobody was there to hear it.

        What the far side itself said it played, it played.
        """
        self.advance(since)
        for flight in reversed(self._flights):
            whose = flight.whose
            played = int((since - flight.begins) * self._rate + 0.5)
            reached = max(flight.start + max(0, played), whose.acked)
            if flight.end <= reached:
                continue
            keep = max(0, reached - flight.start)
            width = len(flight.content) // (flight.end - flight.start)
            whose.taken = max(whose.taken, whose.sent)
            whose.sent = flight.start + keep
            whose.heard = min(whose.heard, whose.sent)
            yield whose, flight.content[keep * width :]
        self._flights.clear()
        self._done = 0
        self._cursor = self.due = since
        self._excused = True

    def next_change(self) -> float | None:
        """Return when the next frame will have been played."""
        if self._done < len(self._flights):
            current = self._flights[self._done]
            return (
                current.begins if current.start == 0 and not current.whose.heard else current.ends
            )
        return None

    def _replay(self, cursor: float) -> None:
        """Let the model play all remaining frames again, from `cursor` on."""
        self._done = 0
        for flight in self._flights:
            whose = flight.whose
            flight.begins = max(flight.sent_at + self.path.forward, cursor)
            cursor = flight.ends = flight.begins + self._seconds
            if flight.start == 0:
                whose.first = flight.begins
            whose.last = flight.begins + (flight.end - flight.start) / self._rate
        self._cursor = cursor


def _is_up_to(flight: Flight, whose: Utterance, end: int) -> bool:
    """Return whether a frame was over when `whose` had been played up to `end`."""
    return flight.whose.order < whose.order or (flight.whose is whose and flight.end <= end)
