"""Speaking a stream of tokens: order, overlap, what is kept, and what closing leaves behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from inference.pool import Priority
from inference.runtime import Runtime, RuntimeSettings
from tts.english import ENGLISH
from tts.sound import PAUSES, Sound, SpokenWord
from tts.voice import AHEAD, Clause, ClauseVoice

RATE = 1000


class Typewriter:
    """An engine that gives a hundredth of a second of sound a letter, when it is let."""

    name = "typewriter"
    language = ENGLISH

    def __init__(self) -> None:
        self.rendered: list[str] = []
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()
        self.broken = False

    def load(self) -> None:
        """Need nothing."""

    def render(self, text: str, rate: int, *, goes_on: bool = False) -> Sound:
        """Type a clause."""
        self.threads.add(threading.current_thread().name)
        self.begun.set()
        assert self.gate.wait(10)
        self.rendered.append(text)
        if self.broken:
            raise RuntimeError("out of paper")
        length = 0 if "Silent" in text else len(text.strip())
        word = SpokenWord(text.strip(), 0.0, length / 100)
        mark = text.strip()[-1:]
        return Sound(bytes(2 * 10 * length), (word,), mark if mark in PAUSES else "")


@pytest.fixture
def engine() -> Typewriter:
    return Typewriter()


@pytest.fixture
def voice(engine: Typewriter) -> Iterator[ClauseVoice]:
    runtime = Runtime(RuntimeSettings(workers=1))
    yield ClauseVoice(runtime, engine)
    engine.gate.set()
    runtime.close()


async def tokens(text: str, size: int = 4) -> AsyncIterator[str]:
    for at in range(0, len(text), size):
        yield text[at : at + size]


def speak(voice: ClauseVoice, text: str, size: int = 4) -> list[Clause]:
    async def all_of_it() -> list[Clause]:
        return [clause async for clause in voice.speak(tokens(text, size), RATE)]

    return asyncio.run(all_of_it())


TEXT = "Hello there Jack, how are you? Good. And you, my dear friend from the far north?"


def test_clauses_come_in_order_and_are_the_text(voice: ClauseVoice, engine: Typewriter) -> None:
    clauses = speak(voice, TEXT)
    assert [clause.text for clause in clauses] == [
        "Hello there Jack, ",
        "how are you? ",
        "Good. ",
        "And you, my dear friend from the far north?",
    ]
    assert engine.rendered == [clause.text for clause in clauses]


def test_the_first_sounds_at_once_and_each_later_one_after_a_pause(voice: ClauseVoice) -> None:
    first, second, third, _ = speak(voice, TEXT)
    assert first.words[0].start == 0
    assert second.words[0].start == pytest.approx(PAUSES[","])
    assert third.words[0].start == pytest.approx(PAUSES["?"])
    assert len(second.pcm) == 2 * (int(PAUSES[","] * RATE) + 10 * len("how are you?"))


def test_nothing_is_made_on_the_loop(voice: ClauseVoice, engine: Typewriter) -> None:
    speak(voice, TEXT)
    assert threading.current_thread().name not in engine.threads


def test_what_was_said_before_is_not_made_again(voice: ClauseVoice, engine: Typewriter) -> None:
    first = speak(voice, TEXT)
    made = len(engine.rendered)
    assert speak(voice, TEXT, size=9) == first
    assert len(engine.rendered) == made


@pytest.mark.real_time
async def test_another_rate_is_another_sound(voice: ClauseVoice, engine: Typewriter) -> None:
    await voice.say("Hello.", 1000)
    await voice.say("Hello.", 2000)
    await voice.say(" Hello. ", 2000)
    assert engine.rendered == ["Hello.", "Hello."]


def test_what_has_no_sound_goes_with_what_has(voice: ClauseVoice) -> None:
    clauses = speak(voice, "Hello there. Silent. Goodbye then.")
    assert [clause.text for clause in clauses] == ["Hello there. ", "Silent. Goodbye then."]


def test_a_text_without_any_words_is_nothing(voice: ClauseVoice) -> None:
    assert speak(voice, "") == []
    assert speak(voice, "Silent") == []


@pytest.mark.real_time
async def test_the_next_clause_is_made_while_one_plays(
    voice: ClauseVoice, engine: Typewriter
) -> None:
    """And not all of them, however much text there is."""
    text = "".join(f"Clause {chr(97 + number)} is here. " for number in range(20))

    speaking = voice.speak(tokens(text, len(text)), RATE)
    await anext(speaking)
    # The one thread takes the least urgent job last.
    await voice.say("Marker.", RATE, Priority.DRAFT)
    assert len(engine.rendered) == AHEAD + 1
    await speaking.aclose()


@pytest.mark.real_time
async def test_closing_leaves_nothing_running(voice: ClauseVoice, engine: Typewriter) -> None:
    text = "First one here. Second one here. Third one here. Fourth one here."

    speaking = voice.speak(tokens(text, len(text)), RATE)
    await anext(speaking)
    engine.gate.clear()
    await speaking.aclose()
    engine.gate.set()
    with pytest.raises(StopAsyncIteration):
        await anext(speaking)
    await voice.say("Marker.", RATE)
    # The second may have begun before the end; nothing after it.
    assert "Third one here. " not in engine.rendered
    assert engine.rendered[-1] == "Marker."


@pytest.mark.real_time
async def test_cancelling_drops_what_waits(voice: ClauseVoice, engine: Typewriter) -> None:
    text = "First one here. Second one here. Third one here."
    engine.gate.clear()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(collect(voice, text))
        await asyncio.to_thread(engine.begun.wait, 10)
        task.cancel()
    engine.gate.set()
    await voice.say("Marker.", RATE)
    assert engine.rendered == ["First one here. ", "Marker."]


async def collect(voice: ClauseVoice, text: str) -> list[Clause]:
    return [clause async for clause in voice.speak(tokens(text, len(text)), RATE)]


def test_a_voice_that_fails_is_an_os_error(voice: ClauseVoice, engine: Typewriter) -> None:
    engine.broken = True
    with pytest.raises(OSError, match="out of paper"):
        speak(voice, "Hello.")
    engine.broken = False
    assert len(speak(voice, "Hello.")) == 1


@pytest.mark.real_time
async def test_a_whole_text_has_its_pauses_inside(voice: ClauseVoice) -> None:
    sound = await voice.say("Hello there. Goodbye.", RATE)
    hello, goodbye = 10 * len("Hello there."), 10 * len("Goodbye.")
    assert len(sound.pcm) == 2 * (hello + goodbye + int(PAUSES["."] * RATE))
    assert sound.words[1].start == pytest.approx(hello / RATE + PAUSES["."])
