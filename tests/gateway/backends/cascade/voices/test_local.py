"""The embedded voice behind the port, heard by the embedded recogniser: the words come back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from gateway.backends.cascade.ports import SpeechChunk
from gateway.backends.cascade.recognisers.moonshine import Moonshine
from gateway.backends.cascade.voices.local import LocalLines, LocalVoice
from inference.runtime import Runtime
from media.codec import wire_form
from tts.english import ENGLISH
from tts.normalise import normalise, spoken


@pytest.fixture(scope="module")
def voice(runtime: Runtime) -> LocalVoice:
    voice = LocalVoice(runtime)
    voice.load()
    return voice


async def tokens(text: str) -> AsyncIterator[str]:
    for token in re.findall(r"\s*\S+", text):
        yield token


def speak(voice: LocalVoice, text: str, rate: int) -> list[SpeechChunk]:
    async def all_of_it() -> list[SpeechChunk]:
        return [chunk async for chunk in voice.speak(tokens(text), rate)]

    return asyncio.run(all_of_it())


def heard_by(moonshine: Moonshine, chunks: list[SpeechChunk], rate: int, codec: str) -> str:
    """Put the sound through a line, silence around it as in a call, and give its words."""
    quiet = bytes(2 * int(0.3 * rate))
    form = wire_form(codec, rate)
    pcm = form.decode(form.encode(quiet + b"".join(chunk.pcm for chunk in chunks) + quiet))
    return moonshine.write(np.frombuffer(pcm, "<i2"), rate)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


SENTENCES = [
    "Thank you for calling Platinum Motors. How can I help you today?",
    "I am sorry, I did not understand that. Could you say it again, please?",
    "Your appointment is on Wednesday morning. Is that right?",
    "The service light came on two weeks ago.",
]


@pytest.mark.parametrize("text", SENTENCES)
def test_the_words_come_back_over_the_telephone(
    voice: LocalVoice, moonshine: Moonshine, text: str
) -> None:
    heard = heard_by(moonshine, speak(voice, text, 8000), 8000, "pcmu")
    assert words(heard) == words(text)


@pytest.mark.parametrize("text", SENTENCES)
def test_the_words_come_back_in_the_browser(
    voice: LocalVoice, moonshine: Moonshine, text: str
) -> None:
    heard = heard_by(moonshine, speak(voice, text, 16000), 16000, "l16")
    assert words(heard) == words(text)


@pytest.mark.parametrize(
    "text",
    [
        "Your number is 555-0134.",
        "That is $249.50, please.",
        "Please come at 10:30.",
        "It is spelled K-E-L-L-Y.",
        "It is a 2018 Tesla Model S.",
        "We are open Mon-Fri 9-17.",
        "Write to jack.smith@example.com, please.",
    ],
)
def test_digits_amounts_and_letters_come_back(
    voice: LocalVoice, moonshine: Moonshine, text: str
) -> None:
    """However the recogniser writes them: read aloud, both are the same words."""
    found = heard_by(moonshine, speak(voice, text, 8000), 8000, "pcma")
    assert read_aloud(found) == read_aloud(text)


def read_aloud(text: str) -> str:
    return "".join(re.findall(r"[a-z]+", spoken(normalise(text, ENGLISH)).lower()))


def test_each_chunk_is_its_text_and_the_first_is_heard_at_once(voice: LocalVoice) -> None:
    text = "Hello Jack, your number is 555-0134. See you at 8 a.m. tomorrow."
    chunks = speak(voice, text, 8000)
    assert "".join(chunk.text for chunk in chunks).split() == text.split()
    assert len(chunks) == 2
    assert chunks[0].words[0].start < 0.1
    glued = "".join(
        word.text if word.glued else f" {word.text}" for chunk in chunks for word in chunk.words
    )
    assert glued.strip() == text


@pytest.mark.real_time
async def test_a_fixed_line_is_ready_after_it_was_rendered(
    voice: LocalVoice, tmp_path: Path
) -> None:
    lines = LocalLines(voice, tmp_path)

    assert lines.ready("One moment, please.", 8000) is None
    line = await lines.render("One moment, please.", 8000)
    assert lines.ready("One moment, please.", 8000) == line
    assert [word.text for word in line.words] == ["One", "moment,", "please."]
