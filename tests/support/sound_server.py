"""A small server with OpenAI's two routes for sound, as OpenAI, vLLM and vLLM-Omni offer them.

It knows the words of an upload from the level of the sound (see `cascade_parts.speech`).
Requests are validated against OpenAI's own published parameters, events against its types.
"""

from __future__ import annotations

import asyncio
import base64
import io
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any, Literal

import numpy as np
from openai.types.audio import TranscriptionTextDeltaEvent, TranscriptionTextDoneEvent
from openai.types.audio.speech_create_params import SpeechCreateParams
from pydantic import TypeAdapter

from tests.support.cascade_parts import Sentences, sentence_of
from tests.support.http_server import Exchange, HttpServer

SPEECH: TypeAdapter[Any] = TypeAdapter(SpeechCreateParams)
RATE = 24000
SECONDS_A_CHARACTER = 0.06


@dataclass
class Spoken:
    """One request for speech, and what became of it."""

    body: dict[str, Any]
    at: float
    pieces: int = 0
    done: bool = False


@dataclass
class FakeSound:
    """Serves both routes."""

    sentences: Sentences = field(default_factory=Sentences)
    first: float = 0.08
    "seconds to the first sound or the words"
    gap: float = 0.01
    "seconds between pieces of 0.2 s of sound"
    shape: Literal["openai", "vllm"] = "openai"
    status: int = 200
    cut_after: int | None = None
    "pieces of sound after which the connection breaks"
    spoken: list[Spoken] = field(default_factory=list)
    uploads: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.http = HttpServer(self._serve)

    @property
    def url(self) -> str:
        return f"{self.http.url}/v1"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeSound]:
        async with self.http.serving():
            yield self

    async def _serve(self, exchange: Exchange) -> None:
        if self.status != 200:
            await exchange.answer(self.status, {"error": {"message": "busy"}})
        elif exchange.request.path == "/v1/audio/speech":
            await self._speak(exchange)
        else:
            assert exchange.request.path == "/v1/audio/transcriptions"
            await self._transcribe(exchange)

    # --- speech -----------------------------------------------------------------------------

    async def _speak(self, exchange: Exchange) -> None:
        body = exchange.request.json()
        SPEECH.validate_python(body)
        assert body["response_format"] == "pcm"
        spoken = Spoken(body, asyncio.get_running_loop().time())
        self.spoken.append(spoken)
        samples = int(len(body["input"]) * SECONDS_A_CHARACTER * RATE)
        sse = body.get("stream_format") == "sse"
        await asyncio.sleep(self.first)
        await exchange.begin(kind="text/event-stream" if sse else "audio/pcm")
        piece = RATE // 5
        for start in range(0, samples, piece):
            if self.cut_after is not None and spoken.pieces >= self.cut_after:
                exchange.cut()
                return
            sound = np.full(min(piece, samples - start), 600, np.int16).tobytes()
            if sse:
                audio = base64.b64encode(sound).decode()
                await exchange.event({"type": "speech.audio.delta", "audio": audio})
            else:  # odd sizes, as chunks over HTTP are
                await exchange.send(sound[:1001])
                await exchange.send(sound[1001:])
            spoken.pieces += 1
            await asyncio.sleep(self.gap)
        if sse:
            usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
            await exchange.event({"type": "speech.audio.done", "usage": usage})
        await exchange.end()
        spoken.done = True

    # --- transcription --------------------------------------------------------------------------

    async def _transcribe(self, exchange: Exchange) -> None:
        fields = form(exchange)
        self.uploads.append(fields)
        with wave.open(io.BytesIO(fields["file"])) as file:
            pcm = file.readframes(file.getnframes())
            size = file.getframerate() // 50 * 2
        heard: list[int] = []
        for at in range(0, len(pcm) - size + 1, size):
            sentence = sentence_of(pcm[at : at + size])
            if sentence is not None and sentence not in heard:
                heard.append(sentence)
        known = self.sentences.texts
        text = " ".join(known[number] for number in heard if number < len(known))
        await asyncio.sleep(self.first)
        if fields.get("stream") != "true":
            await exchange.answer(200, {"text": text})
            return
        await exchange.begin()
        for word in text.split(" "):
            await exchange.event(self._delta(word + " "))
        if self.shape == "openai":
            done = {"type": "transcript.text.done", "text": text}
            TranscriptionTextDoneEvent.model_validate(done)
            await exchange.event(done)
        await exchange.event("[DONE]")
        await exchange.end()

    def _delta(self, text: str) -> dict[str, Any]:
        if self.shape == "vllm":
            choice = {"delta": {"content": text}, "finish_reason": None}
            return {"object": "transcription.chunk", "choices": [choice]}
        event = {"type": "transcript.text.delta", "delta": text}
        TranscriptionTextDeltaEvent.model_validate(event)
        return event


def form(exchange: Exchange) -> dict[str, Any]:
    """Read a multipart form: files as bytes, fields as text."""
    head = f"Content-Type: {exchange.request.headers['content-type']}\r\n\r\n".encode()
    found: dict[str, Any] = {}
    for part in message_from_bytes(head + exchange.request.body).walk():
        name = part.get_param("name", header="content-disposition")
        if not name:
            continue
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        found[str(name)] = content if part.get_filename() else content.decode()
    return found
