"""The parts of a cascade with second choices: each behaves as one part, whoever does the work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from functools import partial
from itertools import count

import structlog

from gateway.backends.cascade.choices.race import ChoiceSettings, Patience, Race
from gateway.backends.cascade.ports import (
    LanguageModel,
    ModelEvent,
    ModelRequest,
    ModelUsage,
    Recogniser,
    RecogniserStream,
    SpeechChunk,
    Transcript,
    Voice,
)
from gateway.backends.cascade.recognisers.caller_sound import SoundRing
from media.frame import AudioFrame
from tts.clauses import ClauseCutter

MODEL_SECONDS = 2.5
"""A model that has no token by then keeps the caller longer than a second one would."""

RECOGNISER_SECONDS = 1.0
"""A turn's words are mostly known when it ends; a second more is a pause people notice."""

VOICE_SECONDS = 1.5
"""From a whole clause to its first sound; hosted voices take 0.1 to 0.5 s."""

KEPT_SECONDS = 30.0
"""Sound a second recogniser can still be given when the first one fails: a long turn."""

log = structlog.get_logger("cascade")


class ModelChoice:
    """Implements `LanguageModel`."""

    def __init__(self, models: Sequence[LanguageModel], settings: ChoiceSettings) -> None:
        self._models = models
        self._patiences = [Patience(settings, MODEL_SECONDS) for _ in models]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Return the reply of whoever answers first."""
        makers = [partial(model.stream, request) for model in self._models]
        race: Race[ModelEvent] = Race(makers, self._patiences)
        try:
            won = await race.run()
            if won.place:
                yield ModelUsage({"choice": won.place + 1})
            if won.first is not None:
                yield won.first
                async for event in won.stream:
                    yield event
        finally:
            await race.aclose()

    def elsewhere(self) -> LanguageModel:
        """Return the choice itself: it spreads its requests already."""
        return self


class VoiceChoice:
    """Implements `Voice`; goes on in the middle of a text when a voice breaks off."""

    def __init__(self, voices: Sequence[Voice], settings: ChoiceSettings) -> None:
        self._voices = voices
        self._patiences = [Patience(settings, VOICE_SECONDS) for _ in voices]

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Speak a stream of tokens; it must survive that a reader of it is cancelled."""
        shared = _SharedText(texts)
        spoken = ""
        for attempt in count(1):
            if not await shared.clause(len(spoken)):
                return  # the wait for the model's words is not the voice's
            makers = [
                partial(voice.speak, shared.reader(len(spoken)), rate) for voice in self._voices
            ]
            race: Race[SpeechChunk] = Race(makers, self._patiences)
            place: int | None = None
            try:
                won = await race.run()
                place = won.place
                if won.first is None:
                    return
                spoken += won.first.text
                yield won.first
                async for chunk in won.stream:
                    spoken += chunk.text
                    yield chunk
                return
            except OSError as broken:
                if place is None or attempt >= len(self._voices) or not shared.begins(spoken):
                    raise
                log.info("voice_changed", reason=str(broken), spoken=len(spoken))
                self._patiences[place].failed(asyncio.get_running_loop().time())
            finally:
                await race.aclose()


class _SharedText:
    """One stream of tokens that several voices read, each from where it is to begin."""

    def __init__(self, texts: AsyncIterator[str]) -> None:
        self._texts = texts
        self._tokens: list[str] = []
        self._over = False
        self._reading = asyncio.Lock()

    def begins(self, spoken: str) -> bool:
        """Return whether what was spoken is how the text begins, so that the rest is known."""
        return "".join(self._tokens).startswith(spoken)

    async def clause(self, since: int) -> bool:
        """Wait for something that can be spoken; False: there is nothing."""
        cutter = ClauseCutter()
        async for token in self.reader(since):
            if any(clause.strip() for clause in cutter.push(token)):
                return True
        return bool("".join(cutter.flush()).strip())

    async def reader(self, since: int) -> AsyncGenerator[str, None]:
        """Return the tokens from the character `since` on."""
        at = 0
        while True:
            if at == len(self._tokens) and not await self._more(at):
                return
            token = self._tokens[at]
            at += 1
            rest = token[since:]
            since = max(0, since - len(token))
            if rest:
                yield rest

    async def _more(self, at: int) -> bool:
        async with self._reading:
            if at == len(self._tokens) and not self._over:
                token = await anext(self._texts, None)
                if token is None:
                    self._over = True
                else:
                    self._tokens.append(token)
        return at < len(self._tokens)


class RecogniserChoice:
    """Implements `Recogniser`."""

    def __init__(self, recognisers: Sequence[Recogniser], settings: ChoiceSettings) -> None:
        self.drives: bool = recognisers[0].drives
        self._recognisers = recognisers
        self._patiences = [Patience(settings, RECOGNISER_SECONDS) for _ in recognisers]

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> RecogniserStream:
        """Begin a caller's stream; only the first choice hears it all along."""
        openers = [
            partial(each.open, rate, hints, None if place else on_words)
            for place, each in enumerate(self._recognisers)
        ]
        return _Stream(openers, self._patiences, rate)


class _Stream:
    """One caller's sound at one recogniser, and at others once they are needed."""

    def __init__(
        self,
        openers: Sequence[Callable[[], RecogniserStream]],
        patiences: Sequence[Patience],
        rate: int,
    ) -> None:
        self._openers = openers
        self._patiences = patiences
        self._rate = rate
        self._ring = SoundRing(rate, KEPT_SECONDS)
        self._open: dict[int, RecogniserStream] = {0: openers[0]()}
        self._group: asyncio.TaskGroup | None = None

    async def serve(self) -> None:
        """Let every stream that is open keep its connection, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for stream in self._open.values():
                self._serve(stream)
            await asyncio.Event().wait()

    def _serve(self, stream: RecogniserStream) -> None:
        if self._group is not None:
            self._group.create_task(stream.serve())

    def feed(self, frame: AudioFrame) -> None:
        """Keep the frame, and pass it on."""
        self._ring.push(frame.start, frame.samples())
        for stream in self._open.values():
            stream.feed(frame)

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        """Return the words of whoever answers first."""
        makers = [
            partial(self._words, place, start, end, final) for place in range(len(self._openers))
        ]
        race: Race[Transcript] = Race(makers, self._patiences)
        try:
            won = await race.run()
        finally:
            await race.aclose()
        assert won.first is not None
        if won.place:
            log.info("second_recogniser", choice=won.place + 1)
        return won.first

    async def close(self) -> None:
        """Close every stream."""
        for stream in self._open.values():
            await stream.close()

    async def _words(
        self, place: int, start: int, end: int, final: bool
    ) -> AsyncGenerator[Transcript, None]:
        stream = self._open.get(place)
        if stream is None:
            stream = self._open[place] = self._openers[place]()
            since = max(0, self._ring.end - int(KEPT_SECONDS * self._rate))
            kept = self._ring.take(since, self._ring.end)
            begin = self._ring.end - len(kept)
            stream.feed(AudioFrame(kept.tobytes(), self._rate, begin))
            self._serve(stream)
        yield await stream.transcribe(start, end, final=final)
