"""A voice that hangs: the cascade notices, whichever it is, and waits for the model alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

import pytest

from gateway.backends.cascade.job import CascadeSettings
from gateway.backends.cascade.ports import ModelEvent, ModelRequest, SpeechChunk, TextDelta
from gateway.call.saying import RENDER_SECONDS, Saying
from gateway.call.tasks import Tasks
from gateway.events import BackendLost, PlayoutDry, Record, UtteranceEnded
from gateway.log_events import FaultLogged
from gateway.plumbing.virtual_time import run
from tests.support.cascade_call import Caller, LineBook, Parts, RenderedLine
from tests.support.cascade_parts import ClauseTones, LevelRecogniser, Sentences

LIMIT = CascadeSettings().voice_seconds

PATIENT = CascadeSettings(token_seconds=2 * LIMIT)

WORDS = "We open at nine in the morning. We close at five in the afternoon. Every day of the week."


@dataclass
class SlowModel:
    """Gives a sentence, then thinks for `pause` seconds before each of the others."""

    pause: float = 0.0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        for number, sentence in enumerate(WORDS.split(".")[:-1]):
            if number:
                await asyncio.sleep(self.pause)
            yield TextDelta(sentence + ". ")


@dataclass
class Hangs(ClauseTones):
    """Speaks so many clauses, each after `slow` seconds, and then nothing more."""

    clauses: int
    slow: float = 0.0

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        left = self.clauses
        async for chunk in super().speak(texts, rate):
            if not left:
                await asyncio.Event().wait()
            left -= 1
            await asyncio.sleep(self.slow)
            yield chunk


class HangsReading(ClauseTones):
    """Takes all the words at once, as a connection does, and makes no sound of them."""

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        async for _ in texts:
            pass
        await asyncio.Event().wait()
        yield SpeechChunk(b"", "")


def losses(model: SlowModel, voice: ClauseTones, seconds: float) -> tuple[Caller, list[float]]:
    """Hold a call of one question; give when after its end the voice was given up."""
    kept: list[Caller] = []
    asked: list[float] = []

    async def story(caller: Caller) -> None:
        await caller.hears()
        await caller.says("When do you open?", draft=None)
        asked.append(caller.now())
        await asyncio.sleep(seconds)

    async def main() -> None:
        sentences = Sentences()
        caller = Caller(Parts(LevelRecogniser(sentences), model, voice, PATIENT), sentences)
        kept.append(caller)
        await caller.run(story)

    run(main())
    lost = [(when, event) for when, event in kept[0].happened(BackendLost)]
    assert {(event.part, event.reason) for _, event in lost} <= {("voice", "no sound in time")}
    return kept[0], [when - asked[0] for when, _ in lost]


@pytest.mark.parametrize("voice", [Hangs(0), HangsReading()], ids=["at a clause", "at the end"])
def test_a_voice_without_a_first_sound_is_given_up_and_apologised_for(voice: ClauseTones) -> None:
    caller, lost = losses(SlowModel(), voice, LIMIT + 4)
    assert lost[0] == pytest.approx(LIMIT, abs=1)
    assert caller.log.of("fault")[0]["part"] == "voice"
    said = [fields["kind"] for fields in caller.log.of("agent_spoke")]
    assert said[-1] == "line"


def test_a_voice_that_falls_silent_within_a_reply_is_given_up() -> None:
    _, lost = losses(SlowModel(), Hangs(2), LIMIT + 4)
    assert lost[0] == pytest.approx(LIMIT, abs=1)


def test_the_wait_for_the_model_is_not_the_voices() -> None:
    pause = LIMIT + 2
    caller, lost = losses(SlowModel(pause), Hangs(9, slow=2.0), 3 * LIMIT + 2 * pause)
    assert lost == []
    assert len(caller.happened(UtteranceEnded)) >= 2


async def test_a_fixed_line_that_is_never_rendered_is_given_up() -> None:
    class Stuck(LineBook):
        def ready(self, text: str, rate: int) -> None:  # type: ignore[override]
            return None

        async def render(self, text: str, rate: int) -> RenderedLine:
            await asyncio.Event().wait()
            raise AssertionError

    posted: list[object] = []
    noted: list[Record] = []
    tasks = Tasks(1.0)
    async with asyncio.TaskGroup() as group:
        tasks.group = group
        saying = Saying(Stuck(), 8000, tasks, posted.append, noted.append)  # type: ignore[arg-type]
        saying.say(1, "Goodbye.")
        await asyncio.sleep(RENDER_SECONDS - 1)
        assert posted == []
        await asyncio.sleep(2)
    assert posted == [PlayoutDry()]
    assert noted[0].event == FaultLogged(part="voice", reason="a line was not rendered in time")
