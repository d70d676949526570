from __future__ import annotations

import asyncio
from typing import Literal

import openai
import pytest

from gateway.backends.cascade.ports import Transcript
from gateway.backends.cascade.recognisers.transcriptions import (
    Transcriptions,
    TranscriptionSettings,
    Words,
    wav,
)
from gateway.backends.cascade.recognisers.turnwise import TurnwiseRecogniser
from gateway.plumbing.virtual_time import run
from media.frame import AudioFrame
from tests.support.cascade_parts import RATE, speech
from tests.support.sound_server import FakeSound


def heard(
    server: FakeSound, text: str = "We open at nine", **settings: object
) -> tuple[str, list[str]]:
    """Let a caller say something between two silences; give the words, and the partials."""
    partials: list[Transcript] = []

    async def main() -> str | OSError:
        async with server.serving():
            chosen = TranscriptionSettings("openai", "m", server.url, **settings)  # type: ignore[arg-type]
            remote = Transcriptions(chosen, "k")
            stream = TurnwiseRecogniser(remote.write).open(
                RATE, ("Harbor Motors",), partials.append
            )
            sentence = server.sentences.add(text)
            stream.feed(AudioFrame(bytes(2 * RATE), RATE, 0))
            stream.feed(AudioFrame(speech(sentence, RATE), RATE, RATE))
            stream.feed(AudioFrame(bytes(2 * RATE), RATE, 2 * RATE))
            try:
                found = await stream.transcribe(RATE, 2 * RATE, final=True)
                assert (await stream.transcribe(0, RATE // 2, final=True)).text == ""
                return found.text
            except OSError as broken:
                return broken
            finally:
                await stream.close()
                await remote.close()
                await asyncio.sleep(0.1)

    found = run(main())
    if isinstance(found, OSError):
        raise found
    return found, [partial.text for partial in partials]


def test_a_turn_is_written_down_in_one_answer():
    server = FakeSound()
    assert heard(server, language="en") == ("We open at nine", [])
    (upload,) = server.uploads  # silence was not asked about
    assert upload["model"] == "m"
    assert upload["language"] == "en"
    assert upload["prompt"] == "Harbor Motors"


@pytest.mark.parametrize("shape", ["openai", "vllm"])
def test_streamed_words_come_in_both_shapes(shape: Literal["openai", "vllm"]):
    text, partials = heard(FakeSound(shape=shape), stream=True)
    assert text == "We open at nine"
    assert partials[0] == "We "
    assert len(partials) == 4


def test_a_stream_without_an_end_is_a_failure():
    words = Words()
    words.feed({"type": "transcript.text.delta", "delta": "We"})
    with pytest.raises(OSError, match="cut off"):
        words.end()


def test_an_error_inside_a_stream_is_a_failure():
    with pytest.raises(OSError, match="out of memory"):
        Words().feed({"error": {"message": "out of memory"}})


@pytest.mark.parametrize(
    ("server", "error"), [(FakeSound(status=500), OSError), (FakeSound(first=30), TimeoutError)]
)
def test_what_goes_wrong_is_an_error_of_the_world(server: FakeSound, error: type[OSError]):
    with pytest.raises(error):
        heard(server)


async def test_the_vendors_own_client_accepts_the_fake():
    async with FakeSound().serving() as server:
        sentence = server.sentences.add("We open at nine")
        file = ("a.wav", wav(speech(sentence, RATE), RATE), "audio/wav")
        client = openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0)
        whole = await client.audio.transcriptions.create(model="m", file=file)
        assert whole.text == "We open at nine"
        stream = await client.audio.transcriptions.create(model="m", file=file, stream=True)
        kinds = [event.type async for event in stream]
        assert kinds == ["transcript.text.delta"] * 4 + ["transcript.text.done"]
        await client.close()
        await asyncio.sleep(0.1)
