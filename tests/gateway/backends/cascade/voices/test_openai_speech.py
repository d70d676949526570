from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
import pytest

from gateway.backends.cascade.ports import SpeechChunk
from gateway.backends.cascade.voices.openai_speech import OpenAISpeech, SpeechSettings
from tests.support.sound_server import SECONDS_A_CHARACTER, FakeSound

TEXT = "Thank you, that is fine. We open at nine in the morning, and we close at five."


@asynccontextmanager
async def play(
    server: FakeSound | None = None,
    **settings: object,
) -> AsyncIterator[tuple[OpenAISpeech, FakeSound]]:
    async with (server or FakeSound()).serving() as served:
        chosen = SpeechSettings("openai", "tts", "marin", served.url, **settings)  # type: ignore[arg-type]
        voice = OpenAISpeech(chosen, "k")
        try:
            yield voice, served
        finally:
            await voice.close()
            await asyncio.sleep(0.1)


async def tokens(text: str, gap: float = 0.03) -> AsyncIterator[str]:
    for word in text.split(" "):
        await asyncio.sleep(gap)
        yield f"{word} "


async def all_of(voice: OpenAISpeech, text: str, rate: int = 8000) -> list[SpeechChunk]:
    return [chunk async for chunk in voice.speak(tokens(text), rate)]


@pytest.mark.parametrize("form", ["audio", "sse"])
async def test_a_text_is_spoken_clause_by_clause_with_every_word_in_its_place(form: str):
    async with play(form=form) as (voice, server):
        chunks = await all_of(voice, TEXT)
        assert "".join(chunk.text for chunk in chunks).split() == TEXT.split()
        inputs = [spoken.body["input"] for spoken in server.spoken]
        assert len(inputs) >= 2
        assert " ".join(inputs) == TEXT
        samples = sum(len(chunk.pcm) // 2 for chunk in chunks)
        characters = sum(map(len, inputs))
        assert samples / 8000 == pytest.approx(characters * SECONDS_A_CHARACTER, rel=0.01)
        begun, words = 0, []
        for chunk in chunks:
            words += [(w.start + begun / 8000, w.end + begun / 8000, w) for w in chunk.words]
            begun += len(chunk.pcm) // 2
        assert [word.text for _, _, word in words] == TEXT.split()
        starts = [start for start, _, _ in words]
        assert starts == sorted(starts)
        assert starts[0] == 0
        assert words[-1][1] <= samples / 8000 + 0.3


async def test_the_first_sound_does_not_wait_for_the_rest_of_the_text():
    async with play() as (voice, _server):
        loop = asyncio.get_running_loop()
        begun = loop.time()
        stream = voice.speak(tokens(TEXT, gap=0.5), 8000)
        chunk = await anext(stream)
        assert chunk.pcm
        # five words make the first clause, and the server takes 80 ms
        assert loop.time() - begun < 5 * 0.5 + 0.6
        await stream.aclose()


async def test_closing_the_iterator_closes_the_connection():
    async with play(FakeSound(gap=0.5)) as (voice, server):
        stream = voice.speak(tokens(TEXT), 8000)
        await anext(stream)
        await stream.aclose()
        await asyncio.sleep(5)
        assert not server.spoken[-1].done
        assert server.http.aborted == 1


@pytest.mark.parametrize(
    ("server", "error", "words"),
    [
        (FakeSound(status=503), OSError, "refused: 503"),
        (FakeSound(cut_after=1), OSError, "failed"),
        (FakeSound(first=60.0), TimeoutError, "in time"),
    ],
)
async def test_what_goes_wrong_is_an_error_of_the_world(
    server: FakeSound, error: type[OSError], words: str
):
    async with play(server) as (voice, server):
        with pytest.raises(error, match=words):
            await all_of(voice, TEXT)


async def test_the_vendors_own_client_accepts_the_fake():
    async with play() as (_voice, server):
        client = openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0)
        async with client.audio.speech.with_streaming_response.create(
            model="tts", voice="marin", input="Good day.", response_format="pcm"
        ) as answer:
            sound = b"".join([piece async for piece in answer.iter_bytes()])
        assert len(sound) == 2 * int(9 * SECONDS_A_CHARACTER * 24000)
        await client.close()
