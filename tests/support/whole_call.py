"""Whole calls behind a real line: real hearing, turn-taking, conversation and playout.

Models alone are stood in for: loud is a voice, a voice is always the same words, and the agent's
voice is a scale of tones, so that the far end's recording tells which part of what was said it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gateway.backends.cascade.cascade import Cascade
from gateway.backends.cascade.ports import (
    ModelEvent,
    ModelRequest,
    RecogniserStream,
    SpeechChunk,
    TextDelta,
    Transcript,
)
from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.hearing import Hearing
from gateway.call.pacer import Pacer
from gateway.call.senses import VoiceStream
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.events import Entry, Word
from gateway.ports import BackendStart, BackendTraits, Free, Leg, Refusal, no_place
from gateway.scenarios.sound_parts import VOICE_DB, ToneVoice
from media.frame import AudioFrame
from media.level import level
from tests.support.cascade_call import LineBook, Log, RenderedLine, Tools, WatchedCall
from turn.events import VoiceScored
from turn.taking import TurnTaking

STEPS = 20
STEP_SECONDS = 0.1


def scale(rate: int, steps: int = STEPS) -> bytes:
    """Make a scale of tones, a tenth of a second each, all below what a telephone carries."""
    each = round(STEP_SECONDS * rate)
    tones = [np.sin(2 * np.pi * _hertz(step) * np.arange(each) / rate) for step in range(steps)]
    return np.rint(8000 * np.concatenate(tones)).astype("<i2").tobytes()


def _hertz(step: int) -> float:
    return 400.0 + 120.0 * step


def scales_heard(pcm: bytes, rate: int) -> list[list[tuple[int, int]]]:
    """Find the scales in a recording: each as its tones in order, and for how many frames each.

    Frames that are no tone of it are left out: a codec smears where one ends.
    """
    size = round(0.02 * rate)
    samples = np.frombuffer(pcm, "<i2").astype(float)
    scales: list[list[tuple[int, int]]] = []
    for at in range(0, len(samples) - size + 1, size):
        frame = samples[at : at + size]
        if level(frame.astype("<i2").tobytes()) < VOICE_DB:
            continue
        spectrum = np.abs(np.fft.rfft(frame * np.hanning(size), 16 * size)) ** 2
        at_hertz = np.arange(len(spectrum)) * rate / (16 * size)
        step = round((float(at_hertz[np.argmax(spectrum)]) - 400.0) / 120.0)
        own = spectrum[np.abs(at_hertz - _hertz(step)) < 100].sum()
        if step not in range(STEPS) or own < 0.8 * spectrum.sum():
            continue
        if not scales or step < scales[-1][-1][0]:
            scales.append([(step, 1)])
        elif step == scales[-1][-1][0]:
            scales[-1][-1] = (step, scales[-1][-1][1] + 1)
        else:
            scales[-1].append((step, 1))
    return scales


def is_whole(heard: list[tuple[int, int]], steps: int = STEPS, slack: int = 1) -> bool:
    """Whether every tone of a scale was heard, once, for its time."""
    frames = round(STEP_SECONDS / 0.02)
    return [step for step, _ in heard] == list(range(steps)) and all(
        abs(count - frames) <= slack for _, count in heard
    )


@dataclass
class SameWords:
    """In the place of a recogniser: whatever is said, these are its words."""

    text: str
    drives: bool = False

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> RecogniserStream:
        return _SameStream(self.text)


@dataclass
class _SameStream:
    text: str
    frames: list[AudioFrame] = field(default_factory=list)

    async def serve(self) -> None:
        """Keep no connection."""

    def feed(self, frame: AudioFrame) -> None:
        self.frames.append(frame)

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        loud = any(
            frame.start < end and frame.end > start and level(frame.pcm) > VOICE_DB
            for frame in self.frames
        )
        return Transcript(self.text if loud else "", final=final)

    async def close(self) -> None:
        self.frames.clear()


@dataclass
class OneAnswer:
    """In the place of a language model: one sentence, after some thought."""

    seconds: float = 0.3
    asked: list[ModelRequest] = field(default_factory=list)

    def elsewhere(self) -> OneAnswer:
        return self

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.asked.append(request)
        await asyncio.sleep(self.seconds)
        yield TextDelta("We open at nine and close at six.")


class Scales:
    """In the place of a voice."""

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        said = "".join([text async for text in texts]).split()
        step = STEPS * STEP_SECONDS / len(said)
        words = tuple(Word(word, n * step, (n + 1) * step) for n, word in enumerate(said))
        yield SpeechChunk(scale(rate), " ".join(said), words)


class ScaleLines(LineBook):
    """Fixed lines, sung too."""

    def ready(self, text: str, rate: int) -> RenderedLine:
        return RenderedLine(scale(rate))


@dataclass
class Whole:
    """One call as it was held."""

    call: WatchedCall
    log: Log
    model: OneAnswer
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def history(self) -> list[Entry]:
        """What the model is told was said."""
        return list(self.call.conversation.state.history.entries())


class WholeCalls:
    """An `Answer` that holds whole calls; its clock is started by whoever serves the line."""

    def __init__(
        self, group: asyncio.TaskGroup, words: str = "When are you open?", **settings: object
    ) -> None:
        """Hold calls in `group`; callers say `words`, `settings` are of the conversations."""
        self._group = group
        self._words = words
        quiet = ConversationSettings(lines=FixedLines(greeting=""))
        self.settings = replace(quiet, **settings)  # type: ignore[arg-type]
        self.pacer = Pacer()
        self.all: list[Whole] = []

    def admit(self, agent: str) -> Refusal | None:
        """Let everybody in."""
        return None

    def take(self) -> Free:
        """Keep no place: there is room for all."""
        return no_place

    def knows(self, agent: str) -> bool:
        """Know every agent but one."""
        return agent != "nobody"

    def begin(self, leg: Leg) -> None:
        """Hold a call."""
        model, log, info = OneAnswer(), Log(), leg.info
        stream = ContinuousStream(info.rate, leg.behind)
        conversation = Conversation(info, self.settings, BackendTraits())

        def voice(hear: Callable[[VoiceScored], None]) -> VoiceStream:
            return ToneVoice(info.rate, hear)

        def start(of: Conversation) -> BackendStart:
            state = of.state
            entries = state.history.entries
            new_id = state.speech.new_id
            return BackendStart(info, "", (), entries(), (), new_id, entries)

        call = WatchedCall(
            leg,
            conversation,
            Hearing(stream, voice, None, TurnTaking(info.rate)),
            stream,
            lambda name: Cascade(SameWords(self._words), model, Scales()),
            start,
            ScaleLines(),
            Tools(),
            log,
        )
        call.watch()
        whole = Whole(call, log, model)
        self.all.append(whole)
        self._group.create_task(self._run(whole))

    async def _run(self, whole: Whole) -> None:
        self.pacer.add(whole.call)
        try:
            await whole.call.run()
        finally:
            self.pacer.remove(whole.call)
            whole.over.set()
