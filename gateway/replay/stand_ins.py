"""What stands in the place of a call's ports while it is run again as it was.

Nothing here decides anything: each gives what the journal says was given at that point.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from gateway.events import BackendCommand, CallInfo, RunTool, ToolAnswered, Word
from gateway.log_events import LogEvent
from gateway.ports import BackendEvent, BackendStart, BackendTraits, Ear, Witness
from gateway.replay import records
from gateway.replay.records import AnyRecord, form_of
from media.codec import WireForm
from media.frame import AudioFrame, Samples
from media.playout import Chunk, Playout
from turn.events import TurnAssessed, VoiceScored

T = TypeVar("T")

WAITS = 20
"""Rounds of the loop within which a question must have been asked whose answer stands next in the
journal: tasks that ask are begun in the round before."""


class UnaskedError(Exception):
    """The journal holds an answer to what is not asked now."""


class Answers:
    """Questions that wait, and what the journal gave at once when it was asked."""

    def __init__(self, found: Sequence[AnyRecord]) -> None:
        self._waiting: dict[Hashable, deque[asyncio.Future[Any]]] = defaultdict(deque)
        self.advised = deque(each for each in found if isinstance(each, records.Advised))
        self.opened = deque(each for each in found if isinstance(each, records.Opened))
        self.ready = deque(each for each in found if isinstance(each, records.Ready))
        self.places = deque(each for each in found if isinstance(each, records.Place))

    async def ask(self, key: Hashable) -> Any:
        """Wait for the answer to a question."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[key].append(future)
        return await future

    async def give(self, key: Hashable, answer: object) -> None:
        """Answer the oldest question of this key, and let who asked go on."""
        for _ in range(WAITS):
            waiting = self._waiting[key]
            while waiting and waiting[0].done():  # cancelled
                waiting.popleft()
            if waiting:
                future = waiting.popleft()
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                return
            await asyncio.sleep(0)
        raise UnaskedError


@dataclass(frozen=True, slots=True)
class KnownLine:
    """A fixed line from the journal."""

    pcm: bytes
    words: tuple[Word, ...] = ()


class StandInLeg:
    """The leg: what it told comes from the journal, what it is asked goes nowhere."""

    def __init__(
        self,
        header: records.Header,
        inside: Callable[[], None],
        behind: Sequence[records.Behind] = (),
    ) -> None:
        """`inside` gives what came from within what the leg was asked."""
        terms = header.terms
        self.info: CallInfo = header.info
        self.playout = Playout(
            form_of(header.info),
            lead=terms.lead,
            frame=terms.frame,
            latency=terms.latency,
            basis=terms.basis,
            clears=terms.clears,
        )
        self.clocked = header.clocked
        self.cancels_echo = header.cancels_echo
        self.ear: Ear | None = None
        self._inside = inside
        self._behind = deque(behind)
        self._reads = 0
        self._late = 0.0

    @property
    def page(self) -> None:
        """There is no page: what it did is in the record, with the tools."""
        return None

    @property
    def witness(self) -> Witness | None:
        """Show it to nobody."""
        return None

    def behind(self) -> float:
        """Return what the line said at this reading."""
        self._reads += 1
        while self._behind and self._behind[0].read <= self._reads:
            self._late = self._behind.popleft().seconds
        return self._late

    def attach(self, ear: Ear) -> None:
        """Keep the ear."""
        self.ear = ear
        self._inside()

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Send nothing."""
        self._inside()

    def poll(self, now: float) -> None:
        """Give what was polled."""
        self._inside()

    def clear(self) -> None:
        """Clear nothing."""
        self._inside()

    def send_keys(self, keys: str) -> None:
        """Press nothing."""
        self._inside()

    def transfer(self, target: str, summary: str) -> None:
        """Call nobody."""
        self._inside()

    def hang_up(self, reason: str) -> None:
        """Wait for the journal to say that the leg is down."""
        self._inside()


class StandInVoice:
    """Voice activity: windows come from the journal."""

    def __init__(self) -> None:
        self.hear: Callable[[VoiceScored], None] = lambda window: None

    def open(self, hear: Callable[[VoiceScored], None]) -> StandInVoice:
        """Begin the call's one stream."""
        self.hear = hear
        return self

    def feed(self, samples: Samples) -> None:
        """Judge nothing."""

    def close(self) -> None:
        """Judge nothing more."""
        self.hear = lambda window: None


class StandInDetector:
    """The turn detector: answers come from the journal."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def feed(self, samples: Samples) -> None:
        """Hear nothing."""

    async def assess(self, start: int, at: int, due_seconds: float) -> TurnAssessed:
        """Wait for the journal's answer."""
        found: TurnAssessed = await self._answers.ask(("turn", start, at))
        return found

    def close(self) -> None:
        """Let go of nothing."""


class StandInBackend:
    """A backend: what it told comes from the journal."""

    def __init__(self, answers: Answers, traits: BackendTraits, inside: Callable[[], None]) -> None:
        self.traits = traits
        self.emit: Callable[[BackendEvent], None] | None = None
        self._answers = answers
        self._inside = inside

    async def run(self, start: BackendStart, emit: Callable[[BackendEvent], None]) -> None:
        """Serve until cancelled."""
        self.emit = emit
        await asyncio.Event().wait()

    def hear(self, frame: AudioFrame) -> None:
        """Give what it told when it heard this."""
        self._inside()

    def perform(self, command: BackendCommand) -> None:
        """Give what it told when it was asked this."""
        self._inside()

    async def words(self, start: int, end: int) -> str | None:
        """Wait for the journal's words."""
        found: str | None = await self._answers.ask(("words", start, end))
        return found

    def done(self, at: int) -> float | None:
        """Return the journal's judgement."""
        advised = self._answers.advised
        return advised.popleft().probability if advised else None


class StandInBook:
    """The fixed lines."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def ready(self, text: str, rate: int) -> KnownLine | None:
        """Return the line, where it was there."""
        if not self._answers.ready:
            return None
        found = self._answers.ready.popleft()
        return None if found.pcm is None else KnownLine(found.pcm, found.words)

    async def render(self, text: str, rate: int) -> KnownLine:
        """Wait for the journal's line."""
        line: KnownLine = await self._answers.ask(("line", text))
        return line


class StandInTools:
    """The tools: nothing is done to the world."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    async def run(self, effect: RunTool) -> ToolAnswered:
        """Wait for the journal's answer."""
        answer: ToolAnswered = await self._answers.ask(("tool", effect.ask))
        return answer


@dataclass
class StandInLog:
    """The call log: what is written is noted by whoever watches."""

    written: int = field(default=0)

    def write(self, event: LogEvent) -> None:
        """Count a line."""
        self.written += 1


class NoFile:
    """In the place of a recording."""

    def left(self, start: int, sound: bytes, form: WireForm | None = None) -> None:
        """Keep nothing."""

    def right(self, start: int, sound: bytes, form: WireForm | None = None) -> None:
        """Keep nothing."""

    def cut_right(self, start: int) -> None:
        """Cut nothing."""

    def close(self) -> None:
        """Finish nothing."""


def traits_of(opened: records.Opened) -> BackendTraits:
    """Return what a backend could do."""
    return msgspec.convert(opened.traits, BackendTraits)
