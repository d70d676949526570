"""The heard-ledger: what waits to be played, what left, and what the caller has heard of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from media.codec import WireForm
from media.farside import FarSide, Flight, Utterance
from media.frame import FRAME_SECONDS
from media.playout_parts import Fader, Past, StallWatch
from media.playout_vocabulary import (
    Basis,
    Began,
    Chunk,
    Dry,
    Finished,
    Holder,
    Mark,
    PlayoutEvent,
    Position,
    Stalled,
)

__all__ = [
    "Basis",
    "Began",
    "Chunk",
    "Dry",
    "Finished",
    "Holder",
    "Mark",
    "Playout",
    "PlayoutEvent",
    "Position",
    "Stalled",
]

MARK_GRACE = 0.5
"""How long an overdue mark is waited for before the model alone is believed: a lost mark costs
half a second of floor, and a longer wait would be felt as a hang."""

FIRST_MARK_GRACE = 0.25
"""The same for the very first mark, while the delay of the path is only assumed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a ledger is begun with beside its wire form; `Playout` says what each is."""

    lead: int
    frame: int | None
    latency: float
    basis: Basis
    clears: bool | None


Overhear = Callable[[str, tuple[float | None, ...]], None]
"""Told which of the ledger's methods the line called about the far side, and with what."""


class Playout:
    """Decides what leaves when, and knows what was heard; it never touches the wire.

    It keeps `lead` samples ahead at the far side and then sends a frame a tick.
    Whether an utterance is over it takes from the ear alone, never from whoever made the sound.
    """

    def __init__(
        self,
        form: WireForm,
        *,
        lead: int,
        frame: int | None = None,
        latency: float = 0.0,
        basis: Basis = "acknowledged",
        clears: bool | None = None,
    ) -> None:
        """Begin empty.

        `lead` and `frame` (None: 20 ms) are samples, `latency` is the assumed one-way delay in
        seconds.
        `clears` says whether the far side can be made to forget what it has not played; where it
        cannot (None: a line of basis `sent`), what has left will be heard, whatever comes.
        """
        self.form = form
        self.terms = Terms(lead, frame, latency, basis, clears)
        "as it was begun; another one made of them behaves alike"
        self.basis: Basis = basis
        self.generation = 1
        self.frame = frame or round(form.rate * FRAME_SECONDS)
        self.waiting = 0
        """samples pushed that have not left"""
        self._seconds = self.frame / form.rate
        self._lead = lead / form.rate
        self._begun: float | None = None
        "when the present run of sound began, where that was between two ticks"
        self._behind = 0.0
        "seconds by which ticks follow the beat on which it began"
        self._clears = basis != "sent" if clears is None else clears
        self._far = FarSide(form.rate, self.frame, latency, marks=basis == "acknowledged")
        self._queue: deque[Utterance] = deque()
        self._open: dict[int, Utterance] = {}
        self._past = Past()
        self._fader = Fader(form)
        self._watch = StallWatch()
        self._orders = 0
        self._holders: frozenset[Holder] = frozenset()
        "who lets nothing leave; sound goes on when none is left"
        self._doubted = False
        "nothing shows just now that somebody hears"
        self._wet = False
        self.overhear: Overhear | None = None
        "is told what the far side says, before it counts"

    # --- what comes in -----------------------------------------------------------------------

    def push(self, utterance: int, payload: bytes) -> None:
        """Append sound in wire form; utterances play in the order of their first push.

        Sound of an utterance that is over (flushed, or heard to its end) is dropped.
        Raises ValueError for a part of a sample.
        """
        width = self.form.bytes_per_sample
        if len(payload) % width:
            raise ValueError(f"{len(payload)} bytes are no whole number of {width}-byte samples")
        whose = self._utterance(utterance)
        if whose is None:
            return
        whose.buffer += payload
        samples = len(payload) // width
        whose.queued += samples
        self.waiting += samples

    def end(self, utterance: int) -> None:
        """Note that all of an utterance is pushed; it may be empty."""
        whose = self._utterance(utterance)
        if whose is not None:
            whose.ended = True

    def _utterance(self, utterance: int) -> Utterance | None:
        whose = self._open.get(utterance)
        if whose is None and utterance not in self._past:
            whose = Utterance(utterance, self._orders)
            self._orders += 1
            self._open[utterance] = whose
            self._queue.append(whose)
            self._wet = True
        return whose

    # --- what goes out -----------------------------------------------------------------------

    @property
    def begins_between_ticks(self) -> bool:
        """Return whether sound that comes now may leave now: it is first, and there is a lead."""
        return self.silent and self._lead >= self._seconds

    def pull(self, now: float, *, ticks: bool = True) -> list[Chunk]:
        """Return what must leave now: whole frames, the last one of an ended utterance padded.

        At the start that is the lead and one frame, then a frame a tick; half a frame of
        tolerance keeps it one a tick although ticks come a little early or late.
        The first pull of a run may come between two ticks (`ticks` is false), the others not; it
        gives the lead alone.
        """
        if self._holders or not self._queue:
            self._watch.reset(None)
            return []
        # Without a lead nothing at this end can make up for a late tick, so sending may trail
        # the clock by up to a frame before the schedule is given up.
        if self._far.start(now, self._seconds if self._lead < self._seconds else 0.0):
            self._begun = None if ticks else now
            self._behind = 0.0
        elif self._begun is not None and ticks:
            self._behind = min(now - self._begun, self._seconds)
            self._begun = None
        half = self._seconds / 2 if ticks else -self._seconds / 2  # the tick to come has its frame
        limit = now + self._lead + half - self._behind
        chunks: list[Chunk] = []
        while self._far.due < limit:
            chunk = self._next(now)
            if chunk is None:
                break
            chunks.append(chunk)
        if chunks:
            self._watch.reset(now)
        return chunks

    def _next(self, now: float) -> Chunk | None:
        """Take one frame off the queue, if a whole one may leave."""
        size = self.frame * self.form.bytes_per_sample
        while self._queue:
            whose = self._queue[0]
            content = bytes(whose.buffer[:size])
            if len(content) < size and not whose.ended:
                return None
            del whose.buffer[:size]
            last = whose.ended and not whose.buffer
            if last:
                self._queue.popleft()
            if content:
                return self._send(whose, content, last, now)
        return None

    def _send(self, whose: Utterance, content: bytes, last: bool, now: float) -> Chunk:
        """Enter a frame into the ledger and make it ready for the wire."""
        start = whose.sent
        samples = len(content) // self.form.bytes_per_sample
        self._far.send(Flight(whose, start + samples, content, now))
        self.waiting -= samples
        padded = content
        if samples < self.frame:
            padded += self.form.silence(self.frame - samples)
        payload = self._fader.apply(padded)
        return Chunk(whose.id, self.generation, start, start + samples, payload, last)

    # --- what is known of the far side -------------------------------------------------------

    def acknowledge(self, mark: Mark, now: float) -> None:
        """Take an echoed mark; those of older generations were not heard and are ignored."""
        if self.overhear is not None:
            self.overhear("acknowledge", (mark.generation, mark.utterance, mark.end, now))
        whose = self._open.get(mark.utterance)
        if mark.generation == self.generation and whose is not None and mark.end <= whose.sent:
            self._far.acknowledge(whose, mark.end, now)

    def report(self, utterance: int, heard: int, now: float, error: int) -> None:
        """Take a position that the far side itself measured, right within `error` samples."""
        if self.overhear is not None:
            self.overhear("report", (utterance, heard, now, error))
        whose = self._open.get(utterance)
        if whose is not None:
            self._far.report(whose, heard, now, error)

    def set_latency(self, seconds: float, error: float | None = None) -> None:
        """Take a better figure of the one-way delay, from an RTCP round trip for example."""
        if self.overhear is not None:
            self.overhear("set_latency", (seconds, error))
        self._far.assume(seconds, error)

    def doubt(self, since: float | None) -> None:
        """Take since when nothing shows that somebody hears; None: something does again.

        For a line that is told of no positions, and sees whether anything comes from there.
        """
        if self.overhear is not None:
            self.overhear("doubt", (since,))
        self._doubted = since is not None
        if since is not None:
            for whose in self._open.values():
                self._far.prove(whose, since)

    def measure(self, latency: float, error: float) -> None:
        """Take the delay to the ear, in seconds, as the far side measured it between utterances.

        What was sent already stays where it is; what follows is expected to take as long.
        """
        if self.overhear is not None:
            self.overhear("measure", (latency, error))
        self._far.measured(latency, error)

    def heard(self, utterance: int, now: float) -> Position:
        """Return what is known of an utterance; one never heard of has nothing but zeros."""
        whose = self._open.get(utterance)
        if whose is None:
            known = self._past.get(utterance)
            return known or Position(utterance, 0, 0, 0, 0, self.basis)
        self._far.advance(now)
        return self._position(whose)

    def _position(self, whose: Utterance, *, finished: bool = False) -> Position:
        proves = self._doubted or self.basis == "acknowledged"
        error = self._far.error(whose, proves=proves)
        return Position(
            whose.id, whose.queued, whose.sent, whose.heard, error, self.basis, finished
        )

    def _cut(self, whose: Utterance) -> Position:
        """Say what will have been heard when a clear arrives; where it waits, sound plays on."""
        position = self._position(whose)
        ahead = whose.sent - whose.heard
        if not self._clears or not self._far.marks or ahead <= position.error:
            return position
        return replace(position, error=ahead)

    @property
    def silent(self) -> bool:
        """Return whether nothing waits, nothing is under way and all that happened was told."""
        return not self._wet

    @property
    def underruns(self) -> int:
        """Times the far side ran out of sound inside an utterance."""
        return self._far.underruns

    # --- manners -----------------------------------------------------------------------------

    def duck(self, gain_db: float) -> None:
        """Lower the level of what leaves from now on."""
        self._fader.fade(gain_db)

    def hold(self, holder: Holder) -> None:
        """Let nothing leave, and keep everything; the far side plays what it has."""
        if holder == "path" and self.overhear is not None:
            self.overhear("hold", ())
        self._holders |= {holder}
        self._watch.reset(None)

    def resume(self, holder: Holder) -> None:
        """Play on, unless somebody else holds, from the first sample that was not heard.

        For the caller at full level.
        """
        if holder == "path" and self.overhear is not None:
            self.overhear("resume", ())
        if holder == "caller":
            self._fader.fade(0.0)
        if holder in self._holders:
            self._holders -= {holder}
            self._far.excuse()

    @property
    def holders(self) -> frozenset[Holder]:
        """Who lets nothing leave."""
        return self._holders

    def rewind(self, now: float) -> bool:
        """Take back what the far side, told to clear now, will not play; old marks are void.

        False: there is nothing to take back, or the far side cannot be cleared; leave it alone.
        """
        if not self._clears:
            return False
        self._far.until_clear(now)
        if self._far.next_change() is None:
            return False
        self.generation += 1
        for whose, content in self._far.empty(now):
            self._put_back(whose, content)
        return True

    def take_back(self, since: float) -> bool:
        """Take back what was to be heard after `since`, when nobody was there; marks are void.

        That is also what was counted as heard meanwhile. False: there is nothing.
        """
        self.generation += 1
        found = False
        for whose, content in self._far.lost(since):
            if whose.id not in self._open:
                if not self._past.reopen(whose.id):
                    continue  # it was flushed: the caller wanted no more of it
                self._open = {whose.id: whose, **self._open}
            self._put_back(whose, content)
            found = self._wet = True
        return found

    def _put_back(self, whose: Utterance, content: bytes) -> None:
        whose.buffer[:0] = content
        self.waiting += len(content) // self.form.bytes_per_sample
        if not self._queue or self._queue[0] is not whose:
            self._queue.appendleft(whose)

    def flush(self, now: float) -> list[Position]:
        """Drop all that waits, count the far side as cleared, say what was heard of what.

        Gives every utterance that was not finished, in the order of playing.
        A flush is its own answer: neither `Finished` nor `Dry` follows from it.
        """
        self.generation += 1
        if self._clears:
            self._far.until_clear(now)
        positions = []
        for whose in self._open.values():
            if not self._clears:
                whose.heard = whose.sent
            positions.append(self._cut(whose))
            self._past.add(positions[-1])
        if self._clears:
            for _ in self._far.empty(now):
                pass
        self._queue.clear()
        self._open.clear()
        self.waiting = 0
        self._wet = False
        self._holders -= {"caller"}  # what they held is gone; a line does not come back by it
        self._begun, self._behind = None, 0.0
        self._fader.reset()
        self._watch.reset(None)
        return positions

    # --- what has come to pass ---------------------------------------------------------------

    def poll(self, now: float) -> list[PlayoutEvent]:
        """Return what happened since the last poll."""
        self._far.advance(now)
        events: list[PlayoutEvent] = []
        while self._open:
            whose = next(iter(self._open.values()))
            if not whose.began and whose.heard and self._is_sure(whose.first, now):
                whose.began = True
                events.append(Began(whose.id, whose.first))
            if not self._is_over(whose, now):
                break
            del self._open[whose.id]
            if whose in self._queue:
                self._queue.remove(whose)
            position = self._position(whose, finished=True)
            self._past.add(position)
            events.append(Finished(position))
        if self._wet and not self._open:
            self._wet = False
            events.append(Dry())
        if self._can_send():
            stalled = self._watch.look(now)
            if stalled is not None:
                events.append(stalled)
        else:
            self._watch.reset(None)
        return events

    @property
    def deadline(self) -> float | None:
        """When `poll` will have something to say, if nothing else happens before."""
        times = [self._watch.deadline, self._far.next_change()]
        head = next(iter(self._open.values()), None)
        if head is not None and head.heard:
            if not head.began:
                times.append(head.first + FIRST_MARK_GRACE)
            if head.ended and head.heard >= head.queued:
                times.append(head.last + MARK_GRACE)
        return min((one for one in times if one is not None), default=None)

    def _is_sure(self, when: float, now: float) -> bool:
        """Return whether a modelled time may be told: the path's delay is known, or given up."""
        return not self._far.marks or self._far.path.measured or now >= when + FIRST_MARK_GRACE

    def _is_over(self, whose: Utterance, now: float) -> bool:
        if not whose.ended or whose.buffer or whose.heard < whose.queued:
            return False
        if not self._far.marks or self._far.path.reported or whose.acked >= whose.queued:
            return True
        return now >= whose.last + MARK_GRACE

    def _can_send(self) -> bool:
        """Return whether a pull at the right moment would give something."""
        if self._holders or not self._queue:
            return False
        head = self._queue[0]
        here = len(head.buffer) // self.form.bytes_per_sample
        return (head.ended and here > 0) or here >= self.frame or self.waiting > here
