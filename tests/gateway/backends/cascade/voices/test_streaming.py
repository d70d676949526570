from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from deepgram import AsyncDeepgramClient
from deepgram.environment import DeepgramClientEnvironment

from gateway.backends.cascade.ports import SpeechChunk
from gateway.backends.cascade.voices.deepgram import Aura, DeepgramVoiceSettings
from gateway.backends.cascade.voices.streaming import StreamingVoice
from gateway.events import Word
from tests.support.deepgram_server import FakeDeepgram
from tests.support.deepgram_voices import SECONDS_A_CHARACTER

TEXT = "Thank you, that is fine. We open at nine in the morning, and we close at five."


async def tokens(text: str, gap: float = 0.03) -> AsyncIterator[str]:
    for word in text.split(" "):
        await asyncio.sleep(gap)
        yield word[:2]
        yield f"{word[2:]} "


async def all_of(voice: StreamingVoice, text: str, rate: int = 8000) -> list[SpeechChunk]:
    return [chunk async for chunk in voice.speak(tokens(text), rate)]


def placed(chunks: list[SpeechChunk], rate: int = 8000) -> list[Word]:
    """Return the words with times from the utterance's first sample, as the cascade has them."""
    begun, words = 0, []
    for chunk in chunks:
        at = begun / rate
        words += [Word(w.text, w.start + at, w.end + at) for w in chunk.words]
        begun += len(chunk.pcm) // 2
    return words


def seconds(chunks: list[SpeechChunk], rate: int = 8000) -> float:
    return sum(len(chunk.pcm) // 2 for chunk in chunks) / rate


Story = Callable[[StreamingVoice, FakeDeepgram], Awaitable[None]]
BOTH = pytest.mark.parametrize("flux", [False, True])


@asynccontextmanager
async def play(
    flux: bool, **settings: object
) -> AsyncIterator[tuple[StreamingVoice, FakeDeepgram]]:
    async with FakeDeepgram().serving() as server:
        chosen = DeepgramVoiceSettings("deepgram", "m", server.url, **settings)  # type: ignore[arg-type]
        voice = StreamingVoice(Aura(chosen, "k", flux))
        yield voice, server
        await voice.close()
        await asyncio.sleep(1)


@BOTH
async def test_words_go_out_as_they_come_and_sound_comes_back_with_every_word_placed(flux: bool):
    async with play(flux) as (voice, server):
        chunks = await all_of(voice, TEXT)
        assert "".join(chunk.text for chunk in chunks).split() == TEXT.split()
        words = placed(chunks)
        assert [word.text for word in words] == TEXT.split()
        assert [w.start for w in words] == sorted(w.start for w in words)
        total = seconds(chunks)
        assert total == pytest.approx(len(TEXT) * SECONDS_A_CHARACTER, rel=0.02)
        assert words[-1].end <= total + 0.4
        (session,) = server.sessions
        said = [text["type"] for text in session.texts]
        assert said == ["Speak"] * len(TEXT.split()) + ["Flush"]
        assert session.path == ("/v2/speak" if flux else "/v1/speak")


@BOTH
async def test_a_connection_is_kept_for_the_next_utterance(flux: bool):
    async with play(flux) as (voice, server):
        for _ in range(3):
            assert await all_of(voice, "Good day to you.")
        assert len(server.sessions) == 1


@BOTH
async def test_what_was_under_way_when_the_caller_cut_in_is_not_heard_in_the_next_reply(flux: bool):
    async with play(flux) as (voice, server):
        stream = voice.speak(tokens(TEXT), 8000)
        await anext(stream)
        await stream.aclose()
        chunks = await all_of(voice, "Of course.")
        assert seconds(chunks) == pytest.approx(len("Of course.") * SECONDS_A_CHARACTER, rel=0.05)
        assert "".join(chunk.text for chunk in chunks).strip() == "Of course."
        assert len(server.sessions) == 1
        stop = "Interrupt" if flux else "Clear"
        assert [t["type"] for t in server.sessions[0].texts].count(stop) == 1


@BOTH
async def test_a_connection_that_breaks_is_an_error_of_the_world_and_is_not_used_again(flux: bool):
    async with play(flux) as (voice, server):
        heard: list[SpeechChunk] = []

        async def listen() -> None:
            async for chunk in voice.speak(tokens(TEXT), 8000):
                heard.append(chunk)
                server.drop()

        with pytest.raises(OSError, match="lost"):
            await listen()
        assert heard
        assert await all_of(voice, "Of course.")
        server.drop()
        await asyncio.sleep(0.1)
        assert await all_of(voice, "Of course.")  # an idle one that broke meanwhile
        assert len(server.sessions) == 3


async def test_a_silent_voice_is_given_up():
    async with play(False) as (voice, server):
        server.silent = True
        with pytest.raises(TimeoutError, match="silent"):
            await all_of(voice, TEXT)


async def test_a_text_without_words_needs_no_voice():
    async with play(False) as (voice, _server):
        assert await all_of(voice, "") == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_the_vendors_own_client_accepts_the_fake():
    async with FakeDeepgram().serving() as server:
        http = server.url.replace("ws:", "http:")
        environment = DeepgramClientEnvironment(
            base=http, production=server.url, agent=server.url, agent_rest=http
        )
        client = AsyncDeepgramClient(api_key="k", environment=environment)
        async with client.speak.v1.connect(
            model="aura-2-thalia-en", encoding="linear16", sample_rate=8000
        ) as aura:
            from deepgram.speak.v1.types import SpeakV1Flush, SpeakV1Text

            await aura.send_text(SpeakV1Text(type="Speak", text="Good day."))
            await aura.send_flush(SpeakV1Flush(type="Flush"))
            sound = 0
            async for message in aura:
                if isinstance(message, bytes):
                    sound += len(message)
                elif message.type == "Flushed":
                    break
            assert sound == 2 * int(9 * SECONDS_A_CHARACTER * 8000)
