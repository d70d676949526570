"""Parts of a call that fail in one place and in one way, and do as they should in all others."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.backends.cascade.ports import (
    ModelEvent,
    ModelRequest,
    RecogniserStream,
    SpeechChunk,
    TextDelta,
    ToolDelta,
    Transcript,
)
from gateway.events import Word
from tests.support.cascade_parts import ClauseTones, LevelRecogniser


class Own(BaseException):
    """What no `except Exception` takes."""


async def hang() -> None:
    await asyncio.Event().wait()


async def fail(kind: str) -> None:
    """Do what a kind of fault is, where it is one that raises or never returns."""
    match kind:
        case "raise":
            raise RuntimeError("broken")
        case "base":
            raise KeyboardInterrupt
        case "own":
            raise Own
        case "exit":
            raise SystemExit(3)
        case "stop":
            raise asyncio.CancelledError
        case "disk":
            raise OSError(errno.ENOSPC, "No space left on device")
        case "close":
            raise ConnectionResetError("the far side closed")
        case "hang":
            await hang()
        case _:
            raise AssertionError(kind)


KINDS = ("raise", "base", "own", "exit", "stop", "disk", "close", "hang")


class Model:
    """Answers, unless it is to fail: before its first word, after some, or as it is closed."""

    def __init__(self, place: str, kind: str) -> None:
        self.place, self.kind = place, kind
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.asked += 1
        first = self.asked == 1
        if first and self.place == "model before":
            await fail(self.kind)
        try:
            yield TextDelta("We are open ")
            if first and self.place == "model within":
                await fail(self.kind)
            if first and self.place == "model data":
                for strange in wrong_events(self.kind):
                    yield strange
            yield TextDelta("all day.")
        finally:
            if first and self.place == "model after":
                await fail(self.kind)


class Voice(ClauseTones):
    """Speaks, unless it is to fail."""

    def __init__(self, place: str, kind: str) -> None:
        self.place, self.kind = place, kind
        self.asked = 0

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        self.asked += 1
        first = self.asked == 1
        if first and self.place == "voice before":
            await fail(self.kind)
        try:
            async for chunk in super().speak(texts, rate):
                yield wrong_sound(self.kind, chunk, rate) if self.place == "voice data" else chunk
                if first and self.place == "voice within":
                    await fail(self.kind)
        finally:
            if first and self.place == "voice after":
                await fail(self.kind)


@dataclass
class Recogniser(LevelRecogniser):
    """Hears, unless it is to fail."""

    place: str = ""
    kind: str = ""

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> RecogniserStream:
        return Ears(super().open(rate, hints, on_words), self)


class Ears:
    """One caller's place in the recogniser."""

    def __init__(self, stream: RecogniserStream, of: Recogniser) -> None:
        self.stream, self.of = stream, of
        self.asked = 0

    async def serve(self) -> None:
        if self.of.place == "recogniser serves":
            await asyncio.sleep(1)
            await fail(self.of.kind)

    def feed(self, frame: Any) -> None:
        self.stream.feed(frame)
        self.asked += 1
        if self.of.place == "recogniser feeds" and self.asked == 100:
            plain_failure(self.of.kind)

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        if self.of.place == "recogniser writes":
            self.of.place = ""
            await fail(self.of.kind)
        if self.of.place == "recogniser data":
            return wrong_words(self.of.kind)
        return await self.stream.transcribe(start, end, final=final)

    async def close(self) -> None:
        await self.stream.close()


def wrong_events(kind: str) -> Iterator[Any]:
    """Give what no model should say."""
    match kind:
        case "garbage":
            yield object()
        case "huge":
            yield TextDelta("and so on " * 20_000)
        case "flood":
            for _ in range(5000):
                yield TextDelta("and ")
        case "disorder":
            yield ToolDelta("a1", "nothing", {})
            yield TextDelta("")
            yield ToolDelta("a1", "nothing", {})
        case _:
            raise AssertionError(kind)


def wrong_sound(kind: str, chunk: SpeechChunk, rate: int) -> SpeechChunk:
    """Make of a voice's sound what it should not give."""
    match kind:
        case "garbage":
            return replace(chunk, pcm=chunk.pcm[:-1], text="\x00\ud800")
        case "huge":
            return replace(chunk, pcm=chunk.pcm + bytes(2 * 120 * rate))
        case "flood":
            return replace(chunk, words=tuple(Word("and", n, n + 1.0) for n in range(5000)))
        case "disorder":
            return replace(chunk, words=chunk.words[::-1])
        case _:
            raise AssertionError(kind)


def wrong_words(kind: str) -> Transcript:
    """Give what no recogniser should hear."""
    match kind:
        case "garbage":
            return Transcript("\x00\ud800 \u202e when")
        case "huge":
            return Transcript("and " * 50_000)
        case "flood":
            return Transcript("\n".join("when do you open?" for _ in range(2000)))
        case "disorder":
            return Transcript("When do you open?", final=False)
        case _:
            raise AssertionError(kind)


def plain_failure(kind: str) -> None:
    """Fail where nothing can wait."""
    failing = fail(kind)
    try:
        failing.send(None)
    finally:
        failing.close()
