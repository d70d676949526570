"""What the far end's own clock says of a call: pure arithmetic on what was said and heard.

Positions are samples since the call was answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gateway.caller.playclock import Piece
from gateway.caller.report import CutIn, Greeting, Turn
from media.codec import WireForm
from media.level import audible

Interval = tuple[int, int]

REPLY_PAUSE = 0.7
"""Seconds of silence that end a reply; pauses in speech are shorter."""

HELD_PAUSE = 0.1
"""Seconds without any sound, not even quiet, that are no jitter: the agent was held."""

LOST_PAUSE = 0.25
"""A shorter gap in the supply is sound that came too late; a longer one is the end of an
utterance."""

ANSWER_SECONDS = 0.2
"""No agent answers sooner, so what is heard before, after a clear, is old."""

STALE_SECONDS = 1.0
"""Old sound that survives a clear comes right behind it; later it would be a new, early answer."""

MARKED_SECONDS = 0.25
"""The first sound after a clear is marked sooner, by whoever marks generations."""

FRAME_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Said:
    """One recording on its way: where it lies on the caller's clock."""

    name: str
    cut_in: bool
    speech_start: int
    speech_end: int


@dataclass(slots=True)
class Tape:
    """All that was said and heard in a call."""

    form: WireForm
    said: list[Said] = field(default_factory=list)
    heard: list[Piece] = field(default_factory=list)
    clears: list[int] = field(default_factory=list)
    marks: list[tuple[int, str]] = field(default_factory=list)
    "where in what is heard the far side put marks, and their names"
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    "when sound arrived (seconds), and how many samples"
    end: int = 0

    def heard_pcm(self) -> bytes:
        """Lay what was heard on the caller's clock, silence in between."""
        end = max([self.end, *(p.start + self._samples(p) for p in self.heard[-1:])])
        sound = np.zeros(end, dtype="<i2")
        for piece in self.heard:
            samples = np.frombuffer(self.form.decode(piece.payload), dtype="<i2")
            sound[piece.start : piece.start + len(samples)] = samples
        pcm: bytes = sound.tobytes()
        return pcm

    def stretches(self) -> list[Interval]:
        """Return the intervals without a gap in the supply."""
        return _joined(((p.start, p.start + self._samples(p)) for p in self.heard), 0)

    def _samples(self, piece: Piece) -> int:
        return len(piece.payload) // self.form.bytes_per_sample


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured."""

    greeting: Greeting
    turns: tuple[Turn, ...]
    cut_ins: tuple[CutIn, ...]
    audio_after_clear_seconds: float
    gaps: tuple[tuple[int, int], ...]
    "inside speech: where sound went on, and how many frames' worth had been missing"
    late_p99: float

    @property
    def missing_or_late_frames(self) -> int:
        """Return how many frames' worth of gaps there are."""
        return sum(frames for _, frames in self.gaps)


def measure(tape: Tape) -> Figures:
    """Measure a call; takes milliseconds per minute of sound."""
    view = _View(tape)
    said = [*tape.said, None]
    turns: list[Turn] = []
    cut_ins: list[CutIn] = []
    for one, following in pairwise(said):
        assert one is not None
        until = view.end if following is None else following.speech_start
        if one.cut_in:
            cut_ins.append(view.cut_in(one, until))
        else:
            turns.append(view.turn(one, until))
    return Figures(
        view.greeting(),
        tuple(turns),
        tuple(cut_ins),
        view.after_clear(),
        tuple(view.gaps()),
        lateness_p99(tape.arrivals, tape.form.rate),
    )


class _View:
    """A tape, with what is asked of it several times."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.rate = tape.form.rate
        self.pcm = tape.heard_pcm()
        self.end = len(self.pcm) // 2
        self.audible = audible(self.pcm, self.rate)
        self.supply = tape.stretches()

    def seconds(self, samples: int) -> float:
        return samples / self.rate

    def greeting(self) -> Greeting:
        first = self.audible[0][0] if self.audible else None
        if first is None or (self.tape.said and first >= self.tape.said[0].speech_start):
            return Greeting()
        return Greeting(self.seconds(first))

    # --- replies ---------------------------------------------------------------------------

    def turn(self, said: Said, until: int) -> Turn:
        reply = self._reply(said, until)
        first, last = reply or (None, 0)
        premature = [
            start
            for start, end in self.audible
            if said.speech_start < start and end <= said.speech_end
        ]
        return Turn(
            said=said.name,
            speech_end=self.seconds(said.speech_end),
            first_audio=None if first is None else self.seconds(first),
            response=None if first is None else self.seconds(first - said.speech_end),
            reply_seconds=0.0 if first is None else self.seconds(last - first),
            speech_start=self.seconds(said.speech_start),
            premature=len(premature),
        )

    def _reply(self, said: Said, until: int) -> Interval | None:
        """Find the speech that answers: heard past the end, and not begun before the start."""
        answers = [
            (start, end)
            for start, end in self.audible
            if said.speech_start < start < until and end > said.speech_end
        ]
        if not answers:
            return None
        return _joined(answers, round(REPLY_PAUSE * self.rate))[0]

    # --- cut-ins ---------------------------------------------------------------------------

    def cut_in(self, said: Said, until: int) -> CutIn:
        onset = said.speech_start
        clear = next((at for at in self.tape.clears if onset <= at < until), None)
        held = self._held(onset, until if clear is None else clear)
        stop = clear if held is None else held
        stopped = None if stop is None else self._last_audible(onset, stop)
        resumed = stop is not None and self._goes_on(stop, said, until, cleared=held is None)
        answer = None if resumed else self._reply(self._after(said, stopped), until)
        first = None if answer is None else answer[0]
        return CutIn(
            onset=self.seconds(onset),
            stopped=None if stopped is None else self.seconds(stopped),
            stop_delay=None if stopped is None else self.seconds(stopped - onset),
            resumed=resumed,
            heard_of_reply=self.seconds(self._played_of_reply(onset, stop or onset)),
            said=said.name,
            speech_end=self.seconds(said.speech_end),
            first_audio=None if first is None else self.seconds(first),
            response=None if first is None else self.seconds(first - said.speech_end),
        )

    def _after(self, said: Said, stopped: int | None) -> Said:
        """Let the answer to a cut-in begin no sooner than the agent has stopped."""
        start = max(said.speech_start, stopped or 0)
        return Said(said.name, True, start, max(said.speech_end, start))

    def _held(self, onset: int, until: int) -> int | None:
        """Return where the supply stopped after the onset, though it had been running then."""
        for start, end in _joined(self.supply, round(HELD_PAUSE * self.rate)):
            if start <= onset < end:
                return end if end < until else None
        return None

    def _goes_on(self, stop: int, said: Said, until: int, *, cleared: bool) -> bool:
        """Return whether the same speech went on after it stopped, before anything was cleared."""
        until = min((at for at in self.tape.clears if stop < at < until), default=until)
        following = self._following(stop, until)
        if following is None:
            return False
        if (same := goes_on(self.tape, stop, following)) is not None:
            return same
        # Marks that say nothing: an answer would not come while the caller is still talking.
        return not cleared and following < said.speech_end + round(ANSWER_SECONDS * self.rate)

    def _following(self, stop: int, until: int) -> int | None:
        """Return where there is sound again after `stop`."""
        return next((start for start, _ in self.supply if stop < start < until), None)

    def _last_audible(self, onset: int, stop: int) -> int | None:
        """Return the end of what was audible before `stop`, if it sounded past the onset."""
        before = [min(end, stop) for start, end in self.audible if start < stop]
        return before[-1] if before and before[-1] > onset else None

    def _played_of_reply(self, onset: int, stop: int) -> int:
        """Count what was played of the reply that was being heard at the onset."""
        pause = round(REPLY_PAUSE * self.rate)
        for start, end in _joined(self.supply, pause):
            if start <= onset < end + pause:
                return sum(min(b, stop) - a for a, b in self.supply if start <= a < min(end, stop))
        return 0

    # --- the line --------------------------------------------------------------------------

    def after_clear(self) -> float:
        """Add up what was heard of old speech after the agent was made to stop."""
        total = 0
        voiced = audible(self.pcm, self.rate, join_seconds=0.0) if self.tape.clears else []
        for clear in self.tape.clears:
            if self._is_new(clear):
                continue
            talking = [s.speech_end for s in self.tape.said if s.speech_start <= clear]
            until = max([clear + round(ANSWER_SECONDS * self.rate), *talking[-1:]])
            until = min(until, clear + round(STALE_SECONDS * self.rate))
            total += sum(
                min(end, until) - max(start, clear)
                for start, end in voiced
                if start < until and end > clear
            )
        return self.seconds(total)

    def _is_new(self, clear: int) -> bool:
        """Return whether the marks show that what followed a clear was sent after it."""
        following = self._following(clear, self.end)
        if following is None:
            return False
        soon = following + round(MARKED_SECONDS * self.rate)
        before = [g for at, name in self.tape.marks if at <= clear and (g := generation(name))]
        after = [
            g for at, name in self.tape.marks if following < at <= soon and (g := generation(name))
        ]
        return bool(before and after) and max(after) > before[-1]

    def gaps(self) -> Iterable[tuple[int, int]]:
        """Find gaps inside speech, and count their frames; a caller who talks may cause one."""
        frame = round(FRAME_SECONDS * self.rate)
        for (_, gap), (resumed, _) in pairwise(self.supply):
            caused = any(gap <= at <= resumed for at in self.tape.clears) or any(
                s.speech_start <= resumed and gap <= s.speech_end + self.rate
                for s in self.tape.said
            )
            # One answer may begin just as the sound of the last is over.
            caused = caused or goes_on(self.tape, gap, resumed) is False
            if resumed - gap < LOST_PAUSE * self.rate and not caused:
                yield resumed, -(-(resumed - gap) // frame)


_MARK = re.compile(r"g(\d+):u(\d+):\d+")


def goes_on(tape: Tape, stop: int, following: int) -> bool | None:
    """Return whether one utterance goes on over a gap; None where no marks tell."""
    before = [name for at, name in tape.marks if at <= stop]
    after = [name for at, name in tape.marks if at > following]
    return same_speech(before[-1], after[0]) if before and after else None


def same_speech(one: str, other: str) -> bool | None:
    """Return whether two marks belong to one utterance; None where their names do not tell."""
    first, second = _MARK.fullmatch(one), _MARK.fullmatch(other)
    return None if first is None or second is None else first[2] == second[2]


def utterance(mark: str) -> int | None:
    """Return the utterance that a mark names; None: it names none."""
    found = _MARK.fullmatch(mark)
    return None if found is None else int(found[2])


def generation(mark: str) -> int:
    """Return the generation that a mark names: it counts the clears before it. 0: it names none."""
    found = _MARK.fullmatch(mark)
    return 0 if found is None else int(found[1])


def _joined(intervals: Iterable[Interval], pause: int) -> list[Interval]:
    """Join intervals, in order, that are no further apart than `pause`."""
    joined: list[Interval] = []
    for start, end in intervals:
        if joined and start - joined[-1][1] <= pause:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def lateness_p99(arrivals: Sequence[tuple[float, int]], rate: int) -> float:
    """Return the 99th percentile of lateness, of sound on its own real-time schedule."""
    late = lateness(arrivals, rate)
    return float(np.percentile(late, 99)) if len(late) else 0.0


def lateness(arrivals: Sequence[tuple[float, int]], rate: int) -> npt.NDArray[np.float64]:
    """Return how late each piece came, against the earliest schedule its predecessors set.

    What comes ahead of time (the lead at the beginning of speech) sets the schedule and is not
    late; a pause of the agent begins a new one.
    """
    late: list[float] = []
    sent = played_until = best = 0.0
    for at, samples in arrivals:
        seconds = samples / rate
        if not late or at > played_until:  # nothing was left to play: a new schedule
            sent, played_until, best = 0.0, at, at
        offset = at - sent
        best = min(best, offset)
        late.append(offset - best)
        sent += seconds
        played_until += seconds
    return np.array(late)
