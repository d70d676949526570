"""OpenAI's two routes for sound, served by Parley's own voice and recogniser.

For servers by others that ask somebody else to hear and to speak: what they pass on is real speech
both ways, so that words can be compared with words.
"""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np

from gateway.backends.cascade.recognisers.moonshine import Moonshine
from gateway.backends.cascade.voices.local import LocalVoice
from inference.runtime import Runtime, RuntimeSettings
from tests.support.http_server import Exchange, HttpServer
from tests.support.sound_server import SPEECH, form

RATE = 24000
"""OpenAI's speech, where it is asked for as samples."""


class LocalSound:
    """Serves both routes; `heard` and `said` are the words that went through."""

    def __init__(self) -> None:
        self._runtime = Runtime(RuntimeSettings())
        self._recogniser = Moonshine(self._runtime)
        self._voice = LocalVoice(self._runtime)
        self.heard: list[str] = []
        self.said: list[str] = []
        self.http = HttpServer(self._serve)

    @property
    def url(self) -> str:
        return f"{self.http.url}/v1"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LocalSound]:
        self._recogniser.load()
        self._voice.load()
        try:
            async with self.http.serving():
                yield self
        finally:
            self._runtime.close()

    def words(self, pcm: bytes, rate: int) -> str:
        """Recognise some sound, in the calling thread."""
        return self._recogniser.write(np.frombuffer(pcm, "<i2"), rate)

    async def _serve(self, exchange: Exchange) -> None:
        match exchange.request.path:
            case "/v1/audio/speech":
                await self._speak(exchange)
            case "/v1/audio/transcriptions":
                await self._transcribe(exchange)
            case _:
                await exchange.answer(404, {"error": {"message": "no such path"}})

    async def _speak(self, exchange: Exchange) -> None:
        body = exchange.request.json()
        SPEECH.validate_python(body)
        assert body["response_format"] == "pcm"
        self.said.append(body["input"])
        await exchange.begin(kind="audio/pcm")
        async for chunk in self._voice.speak(_all_at_once(body["input"]), RATE):
            await exchange.send(chunk.pcm)
        await exchange.end()

    async def _transcribe(self, exchange: Exchange) -> None:
        fields = form(exchange)
        with wave.open(io.BytesIO(fields["file"])) as file:
            assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
            pcm, rate = file.readframes(file.getnframes()), file.getframerate()
        text = await asyncio.to_thread(self.words, pcm, rate)
        self.heard.append(text)
        await exchange.answer(200, {"text": text})


async def _all_at_once(text: str) -> AsyncIterator[str]:
    yield text
