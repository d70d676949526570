"""One call's fault, at every place where foreign code or data enters, beside a neighbour's call.

Whatever happens in the one, the other's far end misses no frame and has none late; the one hears a
word and goes on or ends with one; its log has one `fault` that names the part, and nothing is left
behind.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.backends.cascade.cascade import CascadeSettings
from gateway.backends.cascade.ports import (
    ModelEvent,
    ModelRequest,
    RecogniserStream,
    SpeechChunk,
    TextDelta,
    Transcript,
)
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.plumbing.fence import fenced_task
from gateway.plumbing.virtual_time import run
from media.playout import Chunk
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import ClauseTones, LevelRecogniser, Sentences

SETTINGS = ConversationSettings(lines=FixedLines(greeting="Hello."))
LONG = ConversationSettings(lines=FixedLines(greeting="one two three four five " * 20))
WITHIN = 2.0
"""Seconds within which the caller hears a word after a fault."""


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
                yield chunk
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
        return await self.stream.transcribe(start, end, final=final)

    async def close(self) -> None:
        await self.stream.close()


def plain_failure(kind: str) -> None:
    """Fail where nothing can wait."""
    failing = fail(kind)
    try:
        failing.send(None)
    finally:
        failing.close()


PARTS = {
    "model before": "model",
    "model within": "model",
    "model after": "model",
    "voice before": "voice",
    "voice within": "voice",
    "voice after": "voice",
    "recogniser serves": "session",
    "recogniser feeds": "session",
    "recogniser writes": "recogniser",
}
"""Places, with the part that the log is to name."""

IMMEDIATE = {"recogniser feeds"}
"""Places in which nothing can hang: whoever calls does not wait."""

CELLS = [
    (place, kind)
    for place in PARTS
    for kind in KINDS
    if not (kind == "hang" and place in IMMEDIATE)
    if not (place == "recogniser serves" and kind in ("hang", "stop"))  # serves as it should, ends
]


@pytest.mark.parametrize(("place", "kind"), CELLS)
def test_a_fault_stays_where_it_happens(place: str, kind: str) -> None:
    sentences = Sentences()
    times: list[float] = []

    def sent(chunks: Sequence[Chunk]) -> None:
        if chunks:
            times.append(asyncio.get_running_loop().time())

    model, voice = Model(place, kind), Voice(place, kind)
    recogniser = Recogniser(sentences, place=place, kind=kind)
    quick = CascadeSettings(1.5, 1.5, 1.5, 1.5)
    faulty = Caller(Parts(recogniser, model, voice, quick), sentences, SETTINGS)
    well = Caller(
        Parts(LevelRecogniser(sentences), Model("", ""), ClauseTones()), sentences, LONG, "c2"
    )
    well.leg.send = sent  # type: ignore[method-assign]
    heard: list[float] = []

    async def asks(caller: Caller) -> None:
        await caller.hears()
        await caller.says("When do you open?", draft=None)
        since = caller.now()
        await caller.sound()
        heard.append(caller.now() - since)
        await asyncio.sleep(5)
        if not caller.call._over.is_set():
            await caller.says("And on Sunday?", draft=None)
            await asyncio.sleep(5)

    async def listens(caller: Caller) -> None:
        await asyncio.sleep(25)

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(fenced_task)
        async with asyncio.TaskGroup() as group:
            group.create_task(faulty.run(asks))
            group.create_task(well.run(listens))

    with capture_logs():
        run(main())
    late = [later - before for before, later in pairwise(times)]
    assert len(times) > 800
    assert max(late) < 0.025
    assert heard
    assert heard[0] < WITHIN
    named = [fault["part"] for fault in faulty.log.of("fault")]
    assert named == [PARTS[place]]
    assert len(faulty.log.of("call_ended")) == 1
    assert not well.log.of("fault")
