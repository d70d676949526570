"""A write that is running is not cut into, whatever the caller says meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import numpy as np
import pytest

from gateway.backends.cascade.ports import (
    LanguageModel,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolDelta,
)
from gateway.call.hearing import Hearing
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.ports import ToolSpec
from media.frame import Samples
from media.level import level
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import RATE, ClauseTones, LevelRecogniser, Sentences
from turn.events import VoiceScored
from turn.taking import TurnSettings, TurnTaking

WINDOW = 256
BOOKING = "I am booking that table for you right now, and it takes a moment to be done. "
DONE = "It is booked for eight, and you will get a message with all that we agreed on. "
OVER = "No wait, please stop it"
TOOLS = (
    ToolSpec("book", "Book.", {"type": "object"}, effect="write"),
    ToolSpec("look", "Look.", {"type": "object"}, effect="read"),
)


class Loud:
    """Voice activity by level alone: the caller's sound is a square wave."""

    def __init__(self, hear: Callable[[VoiceScored], None]) -> None:
        self._hear = hear
        self._rest = np.zeros(0, np.int16)
        self._at = 0

    def feed(self, samples: Samples) -> None:
        self._rest = np.concatenate([self._rest, samples])
        while len(self._rest) >= WINDOW:
            window, self._rest = self._rest[:WINDOW], self._rest[WINDOW:]
            loud = level(window.tobytes())
            start, self._at = self._at, self._at + WINDOW
            self._hear(VoiceScored(start, self._at, 0.95 if loud > -40 else 0.01, loud))

    def close(self) -> None: ...


class Books:
    """A model that asks for a tool in its first answer and says in its second that it is done."""

    def __init__(self, tool: str) -> None:
        self.tool = tool

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if any(entry.role == "tool_result" for entry in request.history):
            yield TextDelta(DONE)
        else:
            yield TextDelta(BOOKING)
            yield ToolDelta("a1", self.tool, {})

    def elsewhere(self) -> LanguageModel:
        return self


def caller_of(tool: str, **lines: Any) -> Caller:
    sentences = Sentences()
    return Caller(
        Parts(LevelRecogniser(sentences), Books(tool), ClauseTones()),
        sentences,
        ConversationSettings(tools=TOOLS, drafts=False, lines=FixedLines(**lines)),
        hearing=lambda stream: Hearing(stream, Loud, None, TurnTaking(RATE, TurnSettings())),
    )


def cut_ins(caller: Caller) -> list[dict[str, Any]]:
    """Return what was interrupted by the caller's voice, not by their hanging up."""
    return [each for each in caller.log.of("interrupted") if each["evidence"] != "hang-up"]


async def cut_in_during(tool: str) -> tuple[Caller, int]:
    """Speak over the agent while a tool runs; give how often it was interrupted by then."""
    caller = caller_of(tool)
    caller.tools.seconds = 7.0
    interrupted: list[int] = []

    async def story(caller: Caller) -> None:
        await caller.hears()
        caller.speak("A table for two")
        await asyncio.sleep(1.0)
        caller.speak("")
        await asyncio.sleep(3.3)
        assert len(caller.tools.ran) == 1, "it runs, and the agent says so"
        caller.speak(OVER)
        await asyncio.sleep(1.5)
        interrupted.append(len(cut_ins(caller)))
        caller.speak("")
        await asyncio.sleep(8.0)

    await caller.run(story)
    return caller, interrupted[0]


async def test_a_running_write_is_not_cut_into() -> None:
    caller, interrupted = await cut_in_during("book")
    assert interrupted == 0
    said = [each["text"].strip() for each in caller.log.of("agent_spoke")]
    assert BOOKING.strip() in said, "heard to its end, over the caller's voice"
    (write,) = [each for each in caller.log.of("tool") if each["outcome"] != "asked"]
    assert write["outcome"] == "done"


async def test_a_running_read_is() -> None:
    """The same call with a tool that changes nothing: the caller has the floor at once."""
    _, interrupted = await cut_in_during("look")
    assert interrupted == 1


@pytest.mark.parametrize(("hear_out", "times"), [(("greeting",), 0), ((), 1)])
async def test_a_line_that_is_to_be_heard_out_is(hear_out: tuple[str, ...], times: int) -> None:
    notice = "This call is recorded, as the law of this country wants it to be said."
    caller = caller_of("look", greeting=notice, hear_out=hear_out)

    async def story(caller: Caller) -> None:
        await asyncio.sleep(0.5)
        caller.speak(OVER)
        await asyncio.sleep(1.5)
        caller.speak("")
        await asyncio.sleep(0.2)

    await caller.run(story)
    assert len(cut_ins(caller)) == times
