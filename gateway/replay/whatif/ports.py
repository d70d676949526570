"""What stands in the place of a call's ports while it is run again with other settings.

Each answers what it is asked from the recording: the same question with the same answer after the
same delay, another one with what comes nearest to it. `sources` counts which it was.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gateway.call.senses import TurnStream
from gateway.events import RunTool, ToolAnswered, Word
from gateway.ports import Ear
from gateway.replay import records
from gateway.replay.file import CallJournal
from gateway.replay.records import Did
from gateway.replay.stand_ins import KnownLine, StandInLeg
from gateway.replay.whatif.replies import Questions
from gateway.replay.whatif.timeline import Timeline
from gateway.replay.whatif.words_file import WordTimes
from media.frame import Samples
from media.playout_vocabulary import Chunk, Mark
from turn.events import TurnAssessed

TALKING = 14.0
"""Characters a second of a voice: how long a line sounds that the recording does not hold."""


class PlayingLeg(StandInLeg):
    """A leg whose far side plays what it is sent, and acknowledges it as late as it did then."""

    def __init__(self, journal: CallJournal) -> None:
        super().__init__(journal.header, lambda: None)
        known = [each for each in journal.records if isinstance(each, records.Far)]
        self._acknowledges = any(each.what == "acknowledge" for each in known)
        self._reports = any(each.what == "report" for each in known)
        self._late_by = acknowledged_after(journal)
        self._under_way: deque[tuple[float, Mark]] = deque()
        self._reach = 0.0
        self.late = 0.0
        "what `behind` says"
        self.left: str | None = None
        "why the call hung up"

    def behind(self) -> float:
        """Return what the line said by now."""
        return self.late

    def attach(self, ear: Ear) -> None:
        """Keep the ear."""
        self.ear = ear

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Play, one after the other."""
        now = asyncio.get_running_loop().time()
        for chunk in chunks:
            length = self.playout.frame / self.info.rate
            self._reach = max(self._reach, now) + length
            mark = Mark(chunk.generation, chunk.utterance, chunk.end)
            self._under_way.append((self._reach + self._late_by, mark))

    def acknowledge(self, now: float) -> None:
        """Tell what was played by now."""
        while self._under_way and self._under_way[0][0] <= now:
            _, mark = self._under_way.popleft()
            if self._acknowledges:
                self.playout.acknowledge(mark, now)
            elif self._reports:
                self.playout.report(mark.utterance, mark.end, now, 0)

    def clear(self) -> None:
        """Forget what was not played."""
        self._under_way.clear()
        self._reach = 0.0

    def hang_up(self, reason: str) -> None:
        """Note that the call was ended."""
        self.left = reason


def acknowledged_after(journal: CallJournal) -> float:
    """Return how long after a frame's end its acknowledgement came in a recording."""
    reach, frame = 0.0, (journal.header.terms.frame or journal.header.info.rate // 50)
    length = frame / journal.header.info.rate
    ends: dict[tuple[float, float], float] = {}
    late: list[float] = []
    for record in journal.records:
        match record:
            case Did(channel="sent", fields=fields):
                for utterance, _, _, end, _ in fields["chunks"]:
                    reach = max(reach, record.t) + length
                    ends[utterance, end] = reach
            case Did(channel="leg", name="clear"):
                reach = 0.0
            case records.Far(what="acknowledge", values=(_, utterance, end, now)) if (
                utterance is not None and end is not None and now is not None
            ):
                played = ends.get((utterance, end))
                if played is not None:
                    late.append(now - played)
            case _:
                pass
    return max(0.0, statistics.median(late)) if late else 0.0


@dataclass(frozen=True, slots=True)
class Detector:
    """The turn detector: what it answered then; else what it answers now about that sound."""

    timeline: Timeline
    asked: Questions
    model: TurnStream | None
    sources: Counter[str]

    def feed(self, samples: Samples) -> None:
        """Pass sound on to the model that is asked what the recording does not hold."""
        if self.model is not None:
            self.model.feed(samples)

    async def assess(self, start: int, at: int, due_seconds: float) -> TurnAssessed:
        """Answer after the time that it took then."""
        same = self.asked.same(self.timeline.then(start), self.timeline.then(at))
        delay = same.delay if same is not None else self.asked.delay()
        if same is not None:
            known = same.answer
            self.sources["turn detector, recording"] += 1
            answer = TurnAssessed(at, known.probability, known.queue, known.model, known.fault)
        elif self.model is not None:
            self.sources["turn detector, asked now"] += 1
            answer = await self.model.assess(start, at, due_seconds)
        else:
            self.sources["turn detector, unknown"] += 1
            answer = TurnAssessed(at, None)
        await asyncio.sleep(min(delay, due_seconds))
        return answer if delay <= due_seconds else TurnAssessed(at, None)

    def close(self) -> None:
        """Let go of the sound."""
        if self.model is not None:
            self.model.close()


@dataclass(frozen=True, slots=True)
class Recognised:
    """The recogniser: what it answered then, or the words of a file."""

    timeline: Timeline
    asked: Questions
    file: WordTimes | None
    sources: Counter[str]

    async def words(self, start: int, end: int) -> str | None:
        """Answer after the time that it took then."""
        begun, over = self.timeline.then(start), self.timeline.then(end)
        if self.file is not None:
            self.sources["words, file"] += 1
            ready = self.file.ready(begun, over)
            await asyncio.sleep(self.asked.delay() if ready is None else max(0.0, ready - over))
            return self.file.text(begun, over)
        same = self.asked.same(begun, over)
        if same is not None and abs(same.start - begun) <= 0.3:
            self.sources["words, recording"] += 1
            await asyncio.sleep(same.delay)
            text: str | None = same.answer.text
            return text
        parts = self.asked.parts(begun, over)
        self.sources["words, recording, put together"] += 1
        await asyncio.sleep(self.asked.delay())
        return " ".join(each.answer.text for each in parts if each.answer.text) if parts else None


class Lines:
    """The fixed lines: those of the recording, and a tone as long for others."""

    def __init__(self, journal: CallJournal, sources: Counter[str]) -> None:
        self._sources = sources
        self._ready: dict[str, KnownLine] = {}
        self._made: dict[str, tuple[float, KnownLine]] = {}
        for record in journal.records:
            match record:
                case records.Ready(text=text, pcm=pcm, words=words) if pcm is not None:
                    self._ready[text] = KnownLine(pcm, words)
                case records.Rendered(text=text, pcm=pcm, words=words, failure=""):
                    self._made[text] = record.t - record.asked, KnownLine(pcm, words)
                case _:
                    pass

    def ready(self, text: str, rate: int) -> KnownLine | None:
        """Return a line that was at hand then."""
        if text in self._made:
            return None
        return self._ready.get(text) or self._like(text, rate)

    async def render(self, text: str, rate: int) -> KnownLine:
        """Return a line after the time that it took then."""
        delay, line = self._made.get(text) or (0.0, self._like(text, rate))
        await asyncio.sleep(delay)
        return line

    def _like(self, text: str, rate: int) -> KnownLine:
        self._sources["fixed line, as long as its text"] += 1
        seconds = max(0.4, len(text) / TALKING)
        return KnownLine(_tone(seconds, rate), (Word(text, 0.0, seconds),))


def _tone(seconds: float, rate: int) -> bytes:
    """Return something that is heard as long: a line is there from its first audible sample on."""
    time = np.arange(int(seconds * rate)) / rate
    return (2000 * np.sin(2 * np.pi * 220 * time)).astype("<i2").tobytes()


class Tools:
    """The tools: what they brought then; nothing is done to the world."""

    def __init__(self, journal: CallJournal, unknown: Callable[[str], None]) -> None:
        """`unknown` is told of a tool that was not run then."""
        self._unknown = unknown
        self._known: Mapping[str, records.Tool] = {
            each.ask: each for each in journal.records if isinstance(each, records.Tool)
        }
        self._by_name: dict[str, records.Tool] = {
            each.name: each for each in journal.records if isinstance(each, records.Tool)
        }

    async def run(self, effect: RunTool) -> ToolAnswered:
        """Answer after the time that it took then."""
        known = self._known.get(effect.ask) or self._by_name.get(effect.name)
        if known is None:
            self._unknown(effect.name)
            return ToolAnswered(effect.ask, {}, "failed")
        await asyncio.sleep(known.t - known.asked)
        outcome: Any = known.outcome
        return ToolAnswered(effect.ask, known.result, outcome)
