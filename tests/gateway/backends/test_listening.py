from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateway.backends.listening import Listening
from gateway.events import BackendCommand, BackendLost, BackendReady, CallInfo, Disregard, Listen
from gateway.ports import BackendEvent, BackendStart, BackendTraits
from media.frame import AudioFrame
from tests.support.cascade_parts import FRAME, RATE, LevelRecogniser, Sentences, speech

START = BackendStart(CallInfo("c1", "twilio", "test"), "")


class Model:
    """A backend that keeps what it is given and is lost when it is told to be."""

    traits = BackendTraits(drafts=False, wants_transcript=True)

    def __init__(self) -> None:
        self.frames: list[AudioFrame] = []
        self.commands: list[BackendCommand] = []
        self.lost = asyncio.Event()

    async def run(self, start: BackendStart, emit: Callable[[BackendEvent], None]) -> None:
        emit(BackendReady("model"))
        await self.lost.wait()
        emit(BackendLost("gone"))

    def hear(self, frame: AudioFrame) -> None:
        self.frames.append(frame)

    def perform(self, command: BackendCommand) -> None:
        self.commands.append(command)

    async def words(self, start: int, end: int) -> str | None:
        raise AssertionError("the recogniser is asked, not the model")

    def done(self, at: int) -> float | None:
        return 0.7


async def test_the_model_hears_everything_and_turn_taking_has_words():
    sentences = Sentences()
    said = sentences.add("wait a moment")
    model, told = Model(), list[BackendEvent]()
    both = Listening(model, LevelRecogniser(sentences))
    assert both.traits is model.traits
    assert both.done(0) == 0.7, "a model may judge pauses itself"
    assert await both.words(0, 1) is None, "nothing is known before it runs"
    both.hear(AudioFrame(bytes(2 * FRAME), RATE, 0))
    async with asyncio.TaskGroup() as group:
        group.create_task(both.run(START, told.append))
        await asyncio.sleep(0.01)
        both.perform(Listen(FRAME))
        for number in range(1, 50):
            both.hear(AudioFrame(speech(said, FRAME), RATE, number * FRAME))
        assert await both.words(FRAME, 50 * FRAME) == "wait a moment"
        both.perform(Disregard())
        model.lost.set()
    assert len(model.frames) == 50
    assert model.commands == [Listen(FRAME), Disregard()]
    assert told == [BackendReady("model"), BackendLost("gone")]
    assert await both.words(0, 1) is None
