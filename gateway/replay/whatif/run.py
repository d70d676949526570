"""Runs a recorded call again with other settings, as far as the recording can answer.

The caller is in time with what they hear (`timeline`), the agent answers as it did (`model`). From
where the caller would have heard something else, and could have acted on it, nothing is judged.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import get_args

from gateway.call.assembly import OpenDetector, Parts, assemble
from gateway.call.call import Call
from gateway.call.track import Track
from gateway.events import CallerGone, EndAsked, TransferAsked
from gateway.plumbing import virtual_time
from gateway.ports import Backend, BackendEvent, LineEvent
from gateway.replay import records
from gateway.replay.file import CallJournal
from gateway.replay.records import Header, Record, event_of
from gateway.replay.rerun import frame_of, tell
from gateway.replay.stand_ins import NoFile, StandInLog, StandInVoice, traits_of
from gateway.replay.taps import Notes, tapped
from gateway.replay.whatif.model import RecordedModel
from gateway.replay.whatif.ports import Detector, Lines, PlayingLeg, Recognised, Tools
from gateway.replay.whatif.replies import Questions, Replies, judged, worded
from gateway.replay.whatif.story import Past, Story, read, sound_began
from gateway.replay.whatif.timeline import Source, Timeline
from gateway.replay.whatif.times import Times
from gateway.replay.whatif.watch import Diverged, Watch
from gateway.replay.whatif.words_file import WordTimes
from turn.events import VoiceScored
from turn.taking import TurnTaking

LINE_EVENTS = {kind.__name__: kind for kind in get_args(LineEvent)}
BACKEND_EVENTS = {kind.__name__: kind for kind in get_args(BackendEvent)}

BEAT = 0.02

LONGEST = 60.0
"""Seconds that a call may go on after the recording's last record."""


@dataclass(frozen=True, slots=True)
class Means:
    """With what questions are answered that the recording does not hold."""

    detector: OpenDetector | None = None
    "the model that judges turns"
    busy: Callable[[], bool] = lambda: False
    "it works, in a thread"
    delay: Callable[[], float] | None = None
    "draws how long the model takes to answer, in place of what was measured"
    words: WordTimes | None = None
    backend: Callable[[str], Backend] | None = None
    "a live one; then time is real"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call as it was and as it would have been."""

    call: str
    then: Story
    now: Story
    begun: float
    "the recording's clock when the call began"
    seconds: float
    "of the recording"
    diverged: Diverged | None
    sources: Counter[str] = field(default_factory=Counter)
    "where answers came from"


class Unfit(ValueError):
    """A recording cannot answer such a question; its text is for the operator."""


def run(journal: CallJournal, header: Header, means: Means) -> Outcome:
    """Run a call with another head; raises Unfit where that cannot be judged."""
    _fit(journal, means)
    course = Course(journal, header, means)
    if means.backend is None:
        virtual_time.run(course.run(), [means.busy])
    else:
        asyncio.run(course.run())
    return course.outcome()


def _fit(journal: CallJournal, means: Means) -> None:
    if journal.header.mask != "none" and means.words is None:
        raise Unfit(
            f"words are hidden in it (log.mask = {journal.header.mask!r}), and they are evidence of"
            " where turns end: give them with --words, or keep them with"
            " recording.journal_hidden = true"
        )
    opened = next((each for each in journal.records if isinstance(each, records.Opened)), None)
    if opened is None:
        raise Unfit("it ends before the call began")
    if opened.traits.get("owns_turns"):
        raise Unfit("its model took the turns itself: the gateway's settings decided nothing")


class Course:
    """One call on its way, with other settings."""

    def __init__(self, journal: CallJournal, header: Header, means: Means) -> None:
        self.noted: list[Record] = []
        self._journal = journal
        self._means = means
        self._sources: Counter[str] = Counter()
        self._timeline = Timeline(journal)
        self._leg = PlayingLeg(journal)
        self._voice = StandInVoice()
        self._past = Past.of(journal)
        self._times = Times(sound_began(journal), self._timeline)
        self._backend: Backend | None = None
        self._watch = Watch(self._past, self._timeline, self._times.clock(), self._kind_of)
        self._call = self._assemble(header)

    def outcome(self) -> Outcome:
        """Return how it went."""
        return Outcome(
            self._journal.header.call,
            self._past.story,
            read(self.noted, self._times.clock(), self._past.voicing),
            self._journal.records[0].t,
            self._journal.seconds,
            self._watch.diverged,
            self._sources,
        )

    async def run(self) -> None:
        """Run it to where nothing can be said any more."""
        begun = self._journal.records[0].t
        self._times.delta = asyncio.get_running_loop().time() - begun
        try:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(self._call.run())
                await asyncio.sleep(0)
                await self._drive(begun, running)
                if not running.done():
                    running.cancel()
                    raise _Over
        except* _Over:
            pass

    # --- through time ------------------------------------------------------------------------

    async def _drive(self, begun: float, running: asyncio.Task[None]) -> None:
        last = self._journal.records[-1].t
        for beat in self._beats(begun):
            while (due := self._timeline.next_at) is not None and due <= beat:
                record = self._timeline.take()
                await self._until(record.t)
                self._feed(record)
            await self._until(beat)
            if running.done():
                return
            self._beat(beat)
            if self._watch.over(beat) or beat - self._timeline.shift > last + LONGEST:
                return

    def _beats(self, begun: float) -> Iterator[float]:
        """Return the times at which the pacer ticks, in step with those of then."""
        first = next((x.now for x in self._journal.records if isinstance(x, records.Beat)), begun)
        number = int((begun - first) / BEAT)
        while True:
            number += 1
            yield first + number * BEAT

    def _beat(self, beat: float) -> None:
        now = asyncio.get_running_loop().time()
        self._leg.acknowledge(now)
        self._call.send_due(now)
        self._call.tick(now)
        self._watch.look(self.noted, beat)
        self._times.note(beat)
        if self._leg.left is not None and self._leg.ear is not None:
            self._leg.ear.notice(CallerGone(self._leg.left))

    async def _until(self, t: float) -> None:
        """Wait for a time of the recording's clock, and let who woke up go on."""
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, t + self._times.delta - now))

    def _feed(self, record: Source) -> None:
        ear = self._leg.ear
        match record:
            case records.Voice(start=start, end=end, probability=said, level=level, fault=fault):
                self._voice.hear(VoiceScored(start, end, said, level, 0.0, fault))
            case records.Sound() if ear is not None:
                ear.hear(frame_of(record, self._leg))
            case records.Line(kind=kind, fields=fields) if ear is not None:
                ear.notice(event_of(LINE_EVENTS, kind, fields))
            case records.Far():
                tell(self._leg, record)
            case records.Behind(seconds=seconds):
                self._leg.late = seconds
            case records.Asked(line=line, reason=reason):
                self._call.end(EndAsked(line, reason))
            case records.PutThrough(target=target, summary=summary):
                self._call.end(TransferAsked(target, summary))
            case records.Said(kind=kind, fields=fields) if isinstance(self._backend, RecordedModel):
                if self._backend.emit is not None:
                    self._backend.emit(event_of(BACKEND_EVENTS, kind, fields))
            case _:
                pass

    def _kind_of(self, utterance: int) -> str:
        found = self._call.conversation.state.speech.get(utterance)
        return "reply" if found is None else found.kind

    # --- what it is made of --------------------------------------------------------------------

    def _assemble(self, header: Header) -> Call:
        journal = self._journal
        parts = Parts(
            self._leg,
            header.conversation,
            header.turns,
            TurnTaking(header.info.rate, header.turns),
            self._voice.open,
            self._detector if header.turns.profile.means != "silence" else None,
            self._open,
            Lines(journal, self._sources),
            Tools(journal, self._watch.unknown_tool),
            StandInLog(),
            header.known,
            header.hints,
            None
            if header.recording is None
            else Track(NoFile(), self._leg.playout.form, header.recording),
            lambda: True,
        )
        return assemble(tapped(parts, Notes(self.noted.append, _loop_time), None))

    def _detector(self, recent: object) -> Detector:
        model = self._means.detector
        return Detector(
            self._timeline,
            Questions(judged(self._journal), self._chance("detector")),
            None if model is None else model(recent),  # type: ignore[arg-type]
            self._sources,
        )

    def _open(self, name: str) -> Backend:
        if self._means.backend is not None:
            self._sources["live backend"] += 1
            self._backend = self._means.backend(name)
            return self._backend
        journal = self._journal
        found = [each for each in journal.records if isinstance(each, records.Opened)]
        words = Recognised(
            self._timeline,
            Questions(worded(journal), self._chance("words")),
            self._means.words,
            self._sources,
        )
        advised = tuple(each for each in journal.records if isinstance(each, records.Advised))
        replies = Replies(journal, self._sources, self._means.delay)
        self._backend = RecordedModel(traits_of(found[0]), replies, words, self._timeline, advised)
        return self._backend

    def _chance(self, part: str) -> random.Random:
        return random.Random(f"{self._journal.header.call} {part}")


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


class _Over(Exception):
    """There is nothing more to be judged."""
