"""The heard-ledger: what waits to be played, what left, and what the caller has heard of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from media.codec import WireForm
from media.farside import FarSide, Flight, Utterance
from media.frame import FRAME_SECONDS

Basis = Literal["acknowledged", "sent", "estimated"]

MARK_GRACE = 0.5
"""How long an overdue mark is waited for before the model alone is believed: a lost mark costs
half a second of floor, and a longer wait would be felt as a hang."""

FIRST_MARK_GRACE = 0.25
"""The same for the very first mark, while the delay of the path is only assumed."""

STALL_SECONDS = 0.5
"""Pauses inside speech are shorter; more than this with sound waiting is a fault."""

DUCK_STEP_DB = 6.0
"""Change of gain from one frame to the next: 6 dB every 20 ms is a fade and not a click."""

REMEMBERED = 64
"""How many utterances that are over can still be asked for."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Names the end of a piece of sound, to be echoed by the far side when it has played it."""

    generation: int
    utterance: int
    end: int
    "position in the utterance, in samples"

    def name(self) -> str:
        """Write the mark as the far side will echo it."""
        return f"g{self.generation}:u{self.utterance}:{self.end}"

    @staticmethod
    def parse(name: str) -> Mark:
        """Read what `name` wrote; raises ValueError for anything else."""
        parts = name.split(":")
        if len(parts) == 3 and parts[0][:1] == "g" and parts[1][:1] == "u":
            digits = (parts[0][1:], parts[1][1:], parts[2])
            if all(one.isascii() and one.isdigit() and len(one) < 16 for one in digits):
                return Mark(*(int(one) for one in digits))
        raise ValueError(f"not a mark of ours: {name[:40]!r}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One frame that leaves now."""

    utterance: int
    generation: int
    start: int
    "position of its first sample in the utterance"
    end: int
    "position after its last sample, not counting padding"
    payload: bytes
    "wire form, always a whole frame"
    last: bool
    "nothing follows in this utterance; not set if its end became known only afterwards"

    @property
    def mark(self) -> Mark:
        """The mark that says this chunk was played."""
        return Mark(self.generation, self.utterance, self.end)


@dataclass(frozen=True, slots=True)
class Position:
    """What is known of one utterance's way to the caller's ear, in samples."""

    utterance: int
    queued: int
    "pushed, in all"
    sent: int
    "left this process, and not taken back"
    heard: int
    "reached the caller's ear"
    error: int
    "the heard figure is right within this many samples"
    basis: Basis
    finished: bool = False
    "everything was pushed and everything was heard"


@dataclass(frozen=True, slots=True)
class Began:
    """The caller hears the first sample of an utterance."""

    utterance: int
    when: float
    "loop seconds at which it was heard"


@dataclass(frozen=True, slots=True)
class Finished:
    """An utterance was heard to its end."""

    position: Position
    when: float
    "loop seconds at which its last sample was heard"


@dataclass(frozen=True, slots=True)
class Dry:
    """Nothing waits, nothing more is to come, everything sent was heard."""


@dataclass(frozen=True, slots=True)
class Stalled:
    """There is sound to send and none leaves."""

    seconds: float


PlayoutEvent = Began | Finished | Dry | Stalled


class _Fader:
    """The agent's level, moved in steps that are not heard as clicks."""

    __slots__ = ("_form", "_gain", "_wanted")

    def __init__(self, form: WireForm) -> None:
        self._form = form
        self._gain = self._wanted = 0.0

    def fade(self, gain_db: float) -> None:
        """Go towards a level from the next frame on."""
        self._wanted = gain_db

    def reset(self) -> None:
        """Be at full level with the next frame."""
        self._gain = self._wanted = 0.0

    def apply(self, payload: bytes) -> bytes:
        """Give a frame its level."""
        if self._gain != self._wanted:
            step = max(-DUCK_STEP_DB, min(DUCK_STEP_DB, self._wanted - self._gain))
            self._gain += step
        return self._form.attenuate(payload, self._gain) if self._gain else payload


class _Watch:
    """Notices that sound waits and none leaves."""

    __slots__ = ("_since", "_told")

    def __init__(self) -> None:
        self._since: float | None = None
        self._told = False

    def reset(self, since: float | None) -> None:
        """Something left just then, or (None) there is nothing to send."""
        self._since, self._told = since, False

    @property
    def deadline(self) -> float | None:
        """When waiting becomes a stall."""
        return None if self._since is None or self._told else self._since + STALL_SECONDS

    def look(self, now: float) -> Stalled | None:
        """Say once that sound has waited for too long."""
        if self._since is None:
            self._since = now
        if self._told or now - self._since <= STALL_SECONDS:
            return None
        self._told = True
        return Stalled(now - self._since)


class _Past:
    """Utterances that are over: their last position, and that nothing may be added to them."""

    __slots__ = ("_forgotten", "_positions")

    def __init__(self) -> None:
        self._positions: dict[int, Position] = {}
        self._forgotten = 0

    def add(self, position: Position) -> None:
        """Remember how an utterance ended."""
        self._positions[position.utterance] = position
        if len(self._positions) > REMEMBERED:
            oldest = next(iter(self._positions))
            del self._positions[oldest]
            self._forgotten = max(self._forgotten, oldest)

    def get(self, utterance: int) -> Position | None:
        """Give an utterance's last position, while it is remembered."""
        return self._positions.get(utterance)

    def __contains__(self, utterance: int) -> bool:
        return utterance in self._positions or utterance <= self._forgotten


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
        self.basis: Basis = basis
        self.generation = 1
        self.frame = frame or round(form.rate * FRAME_SECONDS)
        self.waiting = 0
        """samples pushed that have not left"""
        self._seconds = self.frame / form.rate
        self._lead = lead / form.rate
        self._clears = basis != "sent" if clears is None else clears
        self._far = FarSide(form.rate, self.frame, latency, marks=basis == "acknowledged")
        self._queue: deque[Utterance] = deque()
        self._open: dict[int, Utterance] = {}
        self._past = _Past()
        self._fader = _Fader(form)
        self._watch = _Watch()
        self._orders = 0
        self._held = False
        self._wet = False

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

    def pull(self, now: float) -> list[Chunk]:
        """Give what must leave now: whole frames, the last one of an ended utterance padded.

        At the start that is the lead and one frame, then a frame a tick; half a frame of
        tolerance keeps it one a tick although ticks come a little early or late.
        """
        if self._held or not self._queue:
            self._watch.reset(None)
            return []
        # Without a lead nothing at this end can make up for a late tick, so sending may trail
        # the clock by up to a frame before the schedule is given up.
        self._far.start(now, self._seconds if self._lead < self._seconds else 0.0)
        limit = now + self._lead + self._seconds / 2
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
        whose = self._open.get(mark.utterance)
        if mark.generation == self.generation and whose is not None and mark.end <= whose.sent:
            self._far.acknowledge(whose, mark.end, now)

    def report(self, utterance: int, heard: int, now: float, error: int) -> None:
        """Take a position that the far side itself measured, right within `error` samples."""
        whose = self._open.get(utterance)
        if whose is not None:
            self._far.report(whose, heard, now, error)

    def set_latency(self, seconds: float, error: float | None = None) -> None:
        """Take a better figure of the one-way delay, from an RTCP round trip for example."""
        self._far.assume(seconds, error)

    def heard(self, utterance: int, now: float) -> Position:
        """Say what is known of an utterance; one never heard of has nothing but zeros."""
        whose = self._open.get(utterance)
        if whose is None:
            known = self._past.get(utterance)
            return known or Position(utterance, 0, 0, 0, 0, self.basis)
        self._far.advance(now)
        return self._position(whose, now)

    def _position(self, whose: Utterance, now: float, *, finished: bool = False) -> Position:
        error = self._far.error(whose, now)
        return Position(
            whose.id, whose.queued, whose.sent, whose.heard, error, self.basis, finished
        )

    @property
    def underruns(self) -> int:
        """Times the far side ran out of sound inside an utterance."""
        return self._far.underruns

    # --- manners -----------------------------------------------------------------------------

    def duck(self, gain_db: float) -> None:
        """Lower the level of what leaves from now on."""
        self._fader.fade(gain_db)

    def hold(self) -> None:
        """Let nothing leave, and keep everything; the far side plays what it has."""
        self._held = True
        self._watch.reset(None)

    def resume(self, now: float) -> None:
        """Play on at full level from the first sample that was not heard."""
        self._fader.fade(0.0)
        if self._held:
            self._held = False
            self._far.excuse()

    def rewind(self, now: float) -> None:
        """Take back what the far side, cleared just now, will not play; old marks are void.

        Where the far side cannot be cleared nothing needs to be taken back.
        """
        if not self._clears:
            return
        self.generation += 1
        for whose, content in self._far.empty(now):
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
            for _ in self._far.empty(now):
                pass
        self._queue.clear()
        self.waiting = 0
        self._held = self._wet = False
        self._fader.reset()
        self._watch.reset(None)
        positions = [self._cut(whose, now) for whose in self._open.values()]
        self._open.clear()
        return positions

    def _cut(self, whose: Utterance, now: float) -> Position:
        if not self._clears:
            whose.heard = whose.sent
        whose.buffer.clear()
        position = self._position(whose, now)
        self._past.add(position)
        return position

    # --- what has come to pass ---------------------------------------------------------------

    def poll(self, now: float) -> list[PlayoutEvent]:
        """Say what happened since the last poll."""
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
            position = self._position(whose, now, finished=True)
            self._past.add(position)
            events.append(Finished(position, whose.last if whose.queued else now))
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
        """Say whether a modelled time may be told, the path's delay being known or given up on."""
        return not self._far.marks or self._far.path.measured or now >= when + FIRST_MARK_GRACE

    def _is_over(self, whose: Utterance, now: float) -> bool:
        if not whose.ended or whose.buffer or whose.heard < whose.queued:
            return False
        if not self._far.marks or self._far.path.reported or whose.acked >= whose.queued:
            return True
        return now >= whose.last + MARK_GRACE

    def _can_send(self) -> bool:
        """Say whether a pull at the right moment would give something."""
        if self._held or not self._queue:
            return False
        head = self._queue[0]
        here = len(head.buffer) // self.form.bytes_per_sample
        return (head.ended and here > 0) or here >= self.frame or self.waiting > here
