from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from gateway.backends.cascade.choices.race import ENOUGH, ChoiceSettings, Patience
from gateway.backends.cascade.choices.second_choice import (
    ModelChoice,
    RecogniserChoice,
    VoiceChoice,
)
from gateway.backends.cascade.job import Drain
from gateway.backends.cascade.ports import (
    ModelEvent,
    ModelRequest,
    ModelUsage,
    RecogniserStream,
    SpeechChunk,
    TextDelta,
    Transcript,
)
from gateway.plumbing.virtual_time import run
from media.frame import AudioFrame
from tests.support.cascade_parts import RATE, ClauseTones, LevelRecogniser, Sentences, speech

REQUEST = ModelRequest("c1", "Be kind.", ())
TEXT = "Thank you, that is fine. We open at nine in the morning. We close at five."


@dataclass
class Slow:
    """A model that answers after a while, or fails."""

    name: str
    first: float = 0.1
    fails: bool = False
    breaks: bool = False
    asked: int = 0
    stopped: int = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.asked += 1
        done = False
        try:
            await asyncio.sleep(self.first)
            if self.fails:
                raise OSError(self.name)
            yield TextDelta(self.name)
            await asyncio.sleep(0.1)
            if self.breaks:
                raise OSError("broke")
            yield TextDelta(" done")
            done = True
        finally:
            self.stopped += not done


def answers(choice: ModelChoice, times: int = 1) -> list[tuple[str, float]]:
    """Ask; give each answer and the seconds to its first token."""

    async def main() -> list[tuple[str, float]]:
        loop = asyncio.get_running_loop()
        found = []
        for _ in range(times):
            begun, first, text = loop.time(), 0.0, ""
            async for event in choice.stream(REQUEST):
                if isinstance(event, TextDelta):
                    first = first or loop.time() - begun
                    text += event.text
            found.append((text, round(first, 3)))
        await asyncio.sleep(0.1)
        return found

    return run(main())


def test_the_second_model_answers_when_the_first_fails_and_is_then_asked_first():
    first, second = Slow("first", fails=True), Slow("second")
    choice = ModelChoice([first, second], ChoiceSettings())
    assert answers(choice, 2) == [("second done", 0.2), ("second done", 0.1)]
    assert (first.asked, second.asked) == (1, 2)


def test_a_model_that_gives_nothing_is_overtaken_and_stopped():
    first, second = Slow("first", first=9.0), Slow("second")
    choice = ModelChoice([first, second], ChoiceSettings(first_seconds=1.0))
    assert answers(choice) == [("second done", 1.1)]
    assert (first.stopped, second.stopped) == (1, 0)


def test_the_first_may_still_win_and_then_the_second_is_stopped():
    first, second = Slow("first", first=1.2), Slow("second", first=5.0)
    choice = ModelChoice([first, second], ChoiceSettings(first_seconds=1.0))
    assert answers(choice) == [("first done", 1.2)]
    assert (first.stopped, second.stopped) == (0, 1)


def test_a_hedge_begins_at_the_95th_percentile_and_not_before_it_is_known():
    first, second = Slow("first", first=0.5), Slow("second", first=0.1)
    choice = ModelChoice([first, second], ChoiceSettings(first_seconds=3.0, hedge=True))
    answers(choice, ENOUGH)
    assert second.asked == 0
    first.first = 2.5
    assert answers(choice) == [("second done", 0.6)]
    assert (first.stopped, second.asked) == (1, 1)


async def test_when_all_fail_the_last_failure_is_raised():
    choice = ModelChoice([Slow("a", fails=True), Slow("b", fails=True)], ChoiceSettings())

    with pytest.raises(OSError, match="b"):
        _ = [event async for event in choice.stream(REQUEST)]


async def test_an_answer_that_breaks_off_is_not_begun_again_by_another_model():
    choice = ModelChoice([Slow("a", breaks=True), Slow("b")], ChoiceSettings())

    events: list[ModelEvent] = []
    with pytest.raises(OSError, match="broke"):
        await _collect(choice, events)
    assert events == [TextDelta("a")]


async def _collect(choice: ModelChoice, into: list[ModelEvent]) -> None:
    async for event in choice.stream(REQUEST):
        into.append(event)  # noqa: PERF401 - what came before a failure counts


async def test_that_the_second_answered_is_in_the_usage():
    choice = ModelChoice([Slow("a", fails=True), Slow("b")], ChoiceSettings())

    got = [event async for event in choice.stream(REQUEST)]
    assert got[0] == ModelUsage({"choice": 2})


async def test_cancelling_stops_all():
    first, second = Slow("first", first=9.0), Slow("second", first=9.0)
    choice = ModelChoice([first, second], ChoiceSettings(first_seconds=0.5))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):
            await anext(choice.stream(REQUEST))
    await asyncio.sleep(0.1)
    assert (first.stopped, second.stopped) == (1, 1)


def test_a_percentile_is_of_what_was_seen_and_never_above_the_setting():
    patience = Patience(ChoiceSettings(hedge=True), 2.5)
    for _ in range(ENOUGH):
        patience.answered(9.0)
    assert patience.seconds == 2.5


# --- voices --------------------------------------------------------------------------------------


@dataclass
class Breaking:
    """A voice that gives so many clauses and then breaks off."""

    clauses: int
    spoken: list[str] = field(default_factory=list)

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        async for chunk in ClauseTones().speak(texts, rate):
            if len(self.spoken) == self.clauses:
                raise OSError("broke off")
            self.spoken.append(chunk.text)
            yield chunk


@dataclass
class Hanging:
    """A voice that says nothing at all."""

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        async for _ in texts:
            await asyncio.sleep(60)
        yield SpeechChunk(b"", "")


def spoken(voice: VoiceChoice, gap: float = 0.02) -> tuple[list[str], float]:
    """Speak the text as a model gives it; give what was spoken, and the seconds to the first."""

    async def main() -> tuple[list[str], float]:
        tokens: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        begun, first, texts = loop.time(), 0.0, []

        async def think() -> None:
            for word in TEXT.split(" "):
                await asyncio.sleep(gap)
                await tokens.put(f"{word} ")
            await tokens.put(None)

        async with asyncio.TaskGroup() as group:
            group.create_task(think())
            async for chunk in voice.speak(Drain(tokens), RATE):
                first = first or loop.time() - begun
                texts.append(chunk.text)
        await asyncio.sleep(0.1)
        return texts, first

    return run(main())


@pytest.mark.parametrize("clauses", [0, 1, 2])
def test_another_voice_goes_on_where_one_broke_off(clauses: int):
    first = Breaking(clauses)
    texts, _ = spoken(VoiceChoice([first, ClauseTones()], ChoiceSettings()))
    assert "".join(texts).split() == TEXT.split()
    assert len(first.spoken) == clauses


def test_a_voice_that_hangs_is_overtaken_and_nothing_of_the_text_is_lost():
    texts, first = spoken(VoiceChoice([Hanging(), ClauseTones()], ChoiceSettings()))
    assert "".join(texts).split() == TEXT.split()
    assert 1.5 < first < 1.8


def test_a_slow_model_is_not_taken_for_a_slow_voice():
    second = Breaking(0)
    texts, _ = spoken(VoiceChoice([ClauseTones(), second], ChoiceSettings()), gap=1.0)
    assert "".join(texts).split() == TEXT.split()
    assert not second.spoken


def test_when_every_voice_breaks_off_it_is_an_error_of_the_world():
    with pytest.raises(ExceptionGroup) as found:
        spoken(VoiceChoice([Breaking(1), Breaking(0)], ChoiceSettings()))
    assert found.group_contains(OSError, match="broke off")


# --- recognisers ---------------------------------------------------------------------------------


@dataclass
class Failing:
    """A recogniser that is never any help."""

    hangs: bool = False
    drives: bool = False

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> RecogniserStream:
        return _Failing(self.hangs)


@dataclass
class _Failing:
    hangs: bool
    served: bool = False

    async def serve(self) -> None:
        self.served = True
        await asyncio.Event().wait()

    def feed(self, frame: AudioFrame) -> None: ...

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        await asyncio.sleep(60 if self.hangs else 0.01)
        raise OSError("no help")

    async def close(self) -> None: ...


@pytest.mark.parametrize(("hangs", "longest"), [(False, 0.1), (True, 1.2)])
async def test_the_second_recogniser_is_given_the_sound_that_was_kept(hangs: bool, longest: float):
    sentences = Sentences()
    choice = RecogniserChoice([Failing(hangs), LevelRecogniser(sentences)], ChoiceSettings())
    stream = choice.open(RATE, ())
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(stream.serve())
        sound = speech(sentences.add("Hello there"), RATE)
        stream.feed(AudioFrame(sound, RATE, 0))
        begun = asyncio.get_running_loop().time()
        found = await stream.transcribe(0, RATE, final=True)
        assert found.text == "Hello there"
        assert asyncio.get_running_loop().time() - begun < longest
        await stream.close()
        serving.cancel()
