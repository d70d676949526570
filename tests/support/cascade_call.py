"""A whole call in virtual time: a caller with a clock, the real conversation, a cascade of parts.

The test says what the caller does and what turn-taking made of it; everything else is real.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from gateway.backends.cascade.cascade import Cascade, CascadeSettings
from gateway.backends.cascade.ports import LanguageModel, Recogniser, Voice
from gateway.call.call import Call
from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.conversation.vocabulary import Event
from gateway.call.faults import Faults
from gateway.call.pacer import Pacer
from gateway.call.settings import ConversationSettings
from gateway.events import (
    CallerClaimed,
    CallerGone,
    CallerTurnEnded,
    CallInfo,
    Entry,
    RunTool,
    ToolAnswered,
    Word,
)
from gateway.log_events import LogEvent, fields_of, name_of
from gateway.ports import Backend, BackendStart, BackendTraits, Ear, Page, Witness
from media.codec import WireForm
from media.frame import AudioFrame
from media.playout import Chunk, Playout
from tests.support.cascade_parts import FRAME, RATE, SECONDS_A_WORD, Sentences, speech
from turn.events import (
    FloorClaimed,
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnEnded,
    TurnResumed,
)

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class RenderedLine:
    pcm: bytes
    words: tuple[Word, ...] = ()


class LineBook:
    """Fixed lines, always rendered already."""

    def ready(self, text: str, rate: int) -> RenderedLine:
        samples = int(len(text.split()) * SECONDS_A_WORD * rate)
        return RenderedLine(np.full(samples, 700, np.int16).tobytes())

    async def render(self, text: str, rate: int) -> RenderedLine:
        return self.ready(text, rate)


@dataclass
class Tools:
    """Answers every tool after a time."""

    seconds: float = 0.3
    ran: list[RunTool] = field(default_factory=list)

    async def run(self, effect: RunTool) -> ToolAnswered:
        self.ran.append(effect)
        await asyncio.sleep(self.seconds)
        return ToolAnswered(effect.ask, {"found": effect.name}, "done")


class Log:
    """Keeps the call log, with the moment of each line."""

    def __init__(self) -> None:
        self.lines: list[tuple[float, str, dict[str, Any]]] = []

    def write(self, event: LogEvent) -> None:
        now = asyncio.get_running_loop().time()
        self.lines.append((now, name_of(event), fields_of(event)))

    def of(self, event: str) -> list[dict[str, Any]]:
        return [fields for _, name, fields in self.lines if name == event]


class FakeLeg:
    """A telephone that plays what it is sent, at once."""

    def __init__(self, info: CallInfo) -> None:
        self.info = info
        self.playout = Playout(WireForm("pcmu", RATE, 1), lead=0, basis="sent")
        self.ear: Ear | None = None
        self.sounding_until = 0.0

    def attach(self, ear: Ear) -> None:
        self.ear = ear

    clocked = False
    cancels_echo = False
    witness: Witness | None = None
    page: Page | None = None

    def behind(self) -> float:
        return 0.0

    def send(self, chunks: Sequence[Chunk]) -> None:
        if chunks:
            self.sounding_until = asyncio.get_running_loop().time() + 0.02

    def poll(self, now: float) -> None:
        pass

    def clear(self) -> None:
        pass

    def send_keys(self, keys: str) -> None:
        pass

    def transfer(self, target: str, summary: str) -> None:
        pass

    def hang_up(self, reason: str) -> None:
        if self.ear is not None:
            self.ear.notice(CallerGone(reason))


class Silent:
    """A backend that never says anything."""

    traits = BackendTraits()

    async def run(self, start: BackendStart, emit: Any) -> None:
        await asyncio.Event().wait()

    def hear(self, frame: object) -> None:
        pass

    def perform(self, command: object) -> None:
        pass

    async def words(self, start: int, end: int) -> str | None:
        return None

    def done(self, at: int) -> float | None:
        return None


class ToldHearing:
    """In place of voice activity and detector: the test says what the caller does."""

    def begin(
        self,
        group: Any,
        post: Any,
        words: Callable[[int, int], Awaitable[str]],
        done: Callable[[int], float | None],
        faults: Faults,
    ) -> None:
        self.group = group
        self.words = words
        self.done = done

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Take whatever else a hearing is told: this one judges nothing."""
        return lambda *told: None

    def ask_words(self, start: int, end: int) -> None:
        """Ask for the words at a pause, as turn-taking does."""

        async def asked() -> None:
            try:
                await self.words(start, end)
            except OSError:
                pass

        self.group.create_task(asked())


class WatchedCall(Call):
    """A call that remembers what happened in it, and when."""

    def watch(self) -> list[tuple[float, Event]]:
        self.seen: list[tuple[float, Event]] = []
        return self.seen

    def post(self, event: Event) -> None:
        self.seen.append((self._now(), event))
        super().post(event)


@dataclass
class Parts:
    """What a call is made of."""

    recogniser: Recogniser
    model: LanguageModel
    voice: Voice
    cascade: CascadeSettings = field(default_factory=CascadeSettings)


class Caller:
    """One call, and the person who makes it."""

    def __init__(
        self,
        parts: Parts,
        sentences: Sentences,
        settings: ConversationSettings | None = None,
        call_id: str = "c1",
        note: str = "",
        hints: tuple[str, ...] = (),
        backends: Callable[[str], Backend] | None = None,
        hearing: Callable[[ContinuousStream], Any] = lambda stream: ToldHearing(),
    ) -> None:
        """`hearing`: other ears than those that the test tells what the caller does."""
        self.sentences = sentences
        self.settings = settings or ConversationSettings()
        self.log = Log()
        self.tools = Tools()
        stream = ContinuousStream(RATE)
        self.hearing = hearing(stream)
        info = CallInfo(call_id, "twilio", "test", rate=RATE)
        self.leg = FakeLeg(info)
        known = (Entry("note", note),) if note else ()
        conversation = Conversation(info, self.settings, BackendTraits(), known)

        def make(name: str) -> Backend:
            return Cascade(parts.recogniser, parts.model, parts.voice, parts.cascade)

        def start(of: Conversation) -> BackendStart:
            return BackendStart(
                info,
                self.settings.instructions,
                self.settings.tools,
                of.state.history.entries(),
                hints,
                of.state.speech.new_id,
                of.state.history.entries,
            )

        self.call = WatchedCall(
            self.leg,
            conversation,
            self.hearing,
            stream,
            backends or make,
            start,
            LineBook(),
            self.tools,
            self.log,
        )
        self.seen = self.call.watch()
        self._sentence: int | None = None
        self._position = 0

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[asyncio.Task[None]]:
        """Hold the call for as long as the caller has something to do; then they hang up."""
        pacer = Pacer()
        pacer.add(self.call)
        pacer.start()
        try:
            async with asyncio.TaskGroup() as group:
                living = group.create_task(self.call.run())
                mouth = group.create_task(self._mouth())
                yield living
                if not living.done():
                    self.call.notice(CallerGone("done"))
                    await living
                mouth.cancel()
        finally:
            pacer.stop()

    async def run(self, story: Callable[[Caller], Awaitable[None]]) -> None:
        """Hold the call until the story is told, or the call is over before."""
        async with self.holding() as living, asyncio.TaskGroup() as group:
            told = group.create_task(story(self))
            await asyncio.wait({living, told}, return_when=asyncio.FIRST_COMPLETED)
            told.cancel()

    async def _mouth(self) -> None:
        loop = asyncio.get_running_loop()
        begun, number = loop.time(), 0
        while True:
            number += 1
            await asyncio.sleep(max(0.0, begun + number * 0.02 - loop.time()))
            sentence = self._sentence
            pcm = bytes(2 * FRAME) if sentence is None else speech(sentence, FRAME)
            self.call.hear(AudioFrame(pcm, RATE, self._position))
            self._position += FRAME

    @property
    def at(self) -> int:
        """The position that the caller's sound has reached in the call."""
        return self.call._stream.end

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def speak(self, text: str) -> None:
        """Begin to speak, or with an empty text fall silent; nobody tells turn-taking of it."""
        self._sentence = self.sentences.add(text) if text else None

    async def says(
        self,
        text: str,
        seconds: float = 1.0,
        *,
        draft: float | None = 0.2,
        ends: float = 0.5,
        claims: bool = False,
    ) -> None:
        """Speak; a draft begins `draft` seconds after the last word, the turn ends after `ends`."""
        start = self.at
        self._sentence = self.sentences.add(text)
        if claims:
            await asyncio.sleep(0.3)
            self.call.post(CallerClaimed(FloorClaimed(self.at, start, "length"), self.now() - 0.3))
            await asyncio.sleep(max(0.0, seconds - 0.3))
        else:
            self.call.post(SpeechStarted(self.at, start))
            await asyncio.sleep(seconds)
        await self.falls_silent(start, draft=draft, ends=ends)

    async def falls_silent(
        self, start: int, *, draft: float | None = 0.2, ends: float = 0.5
    ) -> None:
        """End the turn that began at `start`."""
        self._sentence = None
        end, stopped = self.at, self.now()
        self.call.post(SpeechStopped(self.at, end))
        if draft is not None:
            await asyncio.sleep(draft)
            self.hearing.ask_words(start, end)
            self.call.post(TurnDrafted(self.at, start, end, 0.7))
            await asyncio.sleep(max(0.0, ends - draft))
        else:
            await asyncio.sleep(ends)
        self.call.post(CallerTurnEnded(TurnEnded(self.at, start, end, "semantic", 0.9), stopped))

    async def hesitates(self, text: str, seconds: float = 1.0, pause: float = 0.4) -> None:
        """Pause long enough for a draft, then go on in the same turn."""
        start = self.at
        self._sentence = self.sentences.add(text)
        self.call.post(SpeechStarted(self.at, start))
        await asyncio.sleep(seconds)
        self._sentence = None
        end = self.at
        self.call.post(SpeechStopped(self.at, end))
        await asyncio.sleep(0.2)
        self.hearing.ask_words(start, end)
        self.call.post(TurnDrafted(self.at, start, end, 0.6))
        await asyncio.sleep(pause - 0.2)
        self.call.post(TurnResumed(self.at))
        self.call.post(SpeechStarted(self.at, self.at))
        self._sentence = self.sentences.add(text)
        await asyncio.sleep(seconds)
        await self.falls_silent(start)

    async def hears(self, longest: float = 60.0) -> None:
        """Listen until the agent has begun to sound and has fallen silent."""
        async with asyncio.timeout(longest):
            await self.sound()
            await self.silence()

    async def silence(self, least: float = 0.1) -> None:
        """Wait until nothing has sounded for a moment."""
        while self.now() < self.leg.sounding_until + least:  # noqa: ASYNC110 - as an ear does
            await asyncio.sleep(0.02)

    async def sound(self) -> None:
        """Wait until the agent begins to sound."""
        while self.now() > self.leg.sounding_until:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    def happened(self, kind: type[Kind]) -> list[tuple[float, Kind]]:
        """Pick the events of one kind, each with its moment."""
        return [(when, event) for when, event in self.seen if isinstance(event, kind)]
