"""Runs a call again from its journal as it was, in the time of that day.

The same conversation, hearing, turn-taking and ledger; what came from outside comes from the
journal, in its order. What the call does is noted as it was then, so that both can be compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, get_args

from gateway.call.assembly import Parts, assemble
from gateway.call.call import Call
from gateway.call.senses import Taking
from gateway.call.track import Track
from gateway.events import EndAsked, ToolAnswered, TransferAsked
from gateway.ports import Backend, BackendEvent, LineEvent
from gateway.replay import records
from gateway.replay.file import CallJournal
from gateway.replay.records import AnyRecord, Record, event_of
from gateway.replay.stand_ins import (
    Answers,
    KnownLine,
    NoFile,
    StandInBackend,
    StandInBook,
    StandInDetector,
    StandInLeg,
    StandInLog,
    StandInTools,
    StandInVoice,
    UnaskedError,
    traits_of,
)
from gateway.replay.taps import Notes, tapped
from media.frame import AudioFrame
from media.playout import Mark
from turn.events import TurnAssessed, VoiceScored
from turn.taking import TurnSettings, TurnTaking

LINE_EVENTS = {kind.__name__: kind for kind in get_args(LineEvent)}
BACKEND_EVENTS = {kind.__name__: kind for kind in get_args(BackendEvent)}

ENDING_SECONDS = 60.0
"""Virtual time for what a call does after its last word."""

Inside = (
    records.Sound | records.Line | records.Far | records.Said
)  # what may come from within what a port is asked

MakeTaking = Callable[[int, TurnSettings], Taking]


class Rerun:
    """One call on its way through its journal."""

    def __init__(self, journal: CallJournal, make_taking: MakeTaking = TurnTaking) -> None:
        self.noted: list[Record] = []
        "what there is to compare"
        self.unasked: int | None = None
        "the record that answers what was not asked; there it ended"
        self._journal = journal
        self._records = journal.records
        self._at = 0
        self._now = journal.records[0].t if journal.records else 0.0
        self._began = self._now
        self._loop_began = 0.0
        self._answers = Answers(journal.records)
        self._voice = StandInVoice()
        self._backend: StandInBackend | None = None
        behind = [each for each in journal.records if isinstance(each, records.Behind)]
        self._leg = StandInLeg(journal.header, self._feed_inside, behind)
        self._call = self._assemble(make_taking)

    async def run(self) -> list[Record]:
        """Run the call; give what was noted."""
        self._loop_began = asyncio.get_running_loop().time()
        try:
            async with asyncio.TaskGroup() as group:
                await self._early()
                running = group.create_task(self._call.run())
                await asyncio.sleep(0)
                try:
                    await self._drive()
                finally:
                    await self._end(running)
        except* _Over:
            pass
        return self.noted

    async def _end(self, running: asyncio.Task[None]) -> None:
        whole = self.unasked is None and not self._journal.cut
        if whole:
            await asyncio.wait({running}, timeout=ENDING_SECONDS)
        if not running.done():
            running.cancel()
            raise _Over

    def _assemble(self, make_taking: MakeTaking) -> Call:
        header, answers = self._journal.header, self._answers
        parts = Parts(
            self._leg,
            header.conversation,
            header.turns,
            make_taking(header.info.rate, header.turns),
            self._voice.open,
            (lambda recent: StandInDetector(answers)) if header.detector else None,
            self._open,
            StandInBook(answers),
            StandInTools(answers),
            StandInLog(),
            header.known,
            header.hints,
            None
            if header.recording is None
            else Track(NoFile(), self._leg.playout.form, header.recording),
            self._may_place,
        )
        return assemble(tapped(parts, Notes(self.noted.append, lambda: self._now), None))

    def _open(self, name: str) -> Backend:
        opened = self._answers.opened
        traits = traits_of(opened.popleft() if opened else records.Opened(0.0, name, {}))
        self._backend = StandInBackend(self._answers, traits, self._feed_inside)
        return self._backend

    def _may_place(self) -> bool:
        places = self._answers.places
        return places.popleft().allowed if places else False

    # --- through the journal ---------------------------------------------------------------------

    async def _early(self) -> None:
        """Give what came before the call ran: the pacer knows it a moment sooner."""
        found = self._records
        while self._at < len(found) and not isinstance(found[self._at], records.Opened):
            record = found[self._at]
            self._at += 1
            if isinstance(record, GIVEN):
                self._now = record.t
                await self._feed(record)

    async def _drive(self) -> None:
        while self._at < len(self._records):
            record = self._records[self._at]
            self._at += 1
            if not isinstance(record, GIVEN):
                continue
            if record.t > self._now:
                await self._until(record.t)
            try:
                await self._feed(record)
            except UnaskedError:
                self.unasked = self._at - 1
                return
        await asyncio.sleep(0)

    async def _until(self, t: float) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._loop_began + t - self._began - loop.time()))
        self._now = t

    async def _feed(self, record: AnyRecord) -> None:
        """Give what came by itself, or an answer."""
        answers = self._answers
        match record:
            case records.Beat(part="send", now=now):
                self._call.send_due(now)
            case records.Beat(now=now):
                self._call.tick(now)
            case records.Asked(line=line, reason=reason):
                self._call.end(EndAsked(line, reason))
            case records.PutThrough(target=target, summary=summary):
                self._call.end(TransferAsked(target, summary))
            case records.Voice(start=start, end=end, probability=said, level=level, fault=fault):
                self._voice.hear(VoiceScored(start, end, said, level, 0.0, fault))
            case records.Judged(start=start, at=at):
                answer = TurnAssessed(
                    at, record.probability, record.queue, record.model, record.fault
                )
                await answers.give(("turn", start, at), answer)
            case records.Words(start=start, end=end, text=text, failure=failure):
                await answers.give(("words", start, end), OSError(failure) if failure else text)
            case records.Rendered(text=text, pcm=pcm, words=words, failure=failure):
                made = KnownLine(pcm, words)
                await answers.give(("line", text), OSError(failure) if failure else made)
            case records.Tool(ask=ask, result=result, outcome=outcome):
                told = ToolAnswered(ask, result, outcome)  # type: ignore[arg-type]
                await answers.give(("tool", ask), told)
            case records.Said() if self._backend is not None and self._backend.emit is None:
                await self._started(self._backend)
                self._give(record)
            case _:
                self._give(record)

    async def _started(self, backend: StandInBackend) -> None:
        for _ in range(10):
            if backend.emit is None:
                await asyncio.sleep(0)

    def _give(self, record: AnyRecord) -> None:
        """Give what a port told."""
        match record:
            case records.Sound() if self._leg.ear is not None:
                self._leg.ear.hear(frame_of(record, self._leg))
            case records.Line(kind=kind, fields=fields) if self._leg.ear is not None:
                self._leg.ear.notice(event_of(LINE_EVENTS, kind, fields))
            case records.Far():
                tell(self._leg, record)
            case records.Said(kind=kind, fields=fields) if self._backend is not None:
                if self._backend.emit is not None:
                    self._backend.emit(event_of(BACKEND_EVENTS, kind, fields))
            case _:
                pass

    def _feed_inside(self) -> None:
        """Give what came from within what a port is being asked."""
        while self._at < len(self._records):
            record = self._records[self._at]
            if isinstance(record, Inside):
                if not record.inside:
                    return
                self._at += 1
                self._give(record)
            elif isinstance(record, GIVEN):
                return
            else:
                self._at += 1  # what the call did is not given to it


GIVEN = (
    Inside
    | records.Beat
    | records.Asked
    | records.Voice
    | records.Judged
    | records.Words
    | records.Rendered
    | records.Tool
)
"""What is given to the call when its turn comes; the rest it asks for, or did itself."""


class _Over(Exception):
    """The journal is at its end before the call."""


def frame_of(record: records.Sound, leg: StandInLeg) -> AudioFrame:
    """Make a frame again."""
    pcm = record.pcm
    if not pcm and record.payload:
        pcm = leg.playout.form.decode(record.payload)
    return AudioFrame(pcm, leg.info.rate, record.start, record.payload, record.codec)


def tell(leg: StandInLeg, record: records.Far) -> None:
    """Tell the ledger what the far side said."""
    playout, values = leg.playout, record.values
    playout.basis = record.basis  # type: ignore[assignment]
    numbers: list[Any] = list(values)
    match record.what:
        case "acknowledge":
            generation, utterance, end, now = numbers
            playout.acknowledge(Mark(int(generation), int(utterance), int(end)), now)
        case "report":
            utterance, heard, now, error = numbers
            playout.report(int(utterance), int(heard), now, int(error))
        case "set_latency":
            playout.set_latency(*numbers)
        case "measure":
            playout.measure(*numbers)
        case "doubt":
            playout.doubt(*numbers)
        case "hold":
            playout.hold("path")
        case "resume":
            playout.resume("path")
        case _:
            raise ValueError(f"the far side said {record.what!r}, which means nothing")
