"""OpenAI's `/v1/audio/speech`, at OpenAI and at servers that offer the same: clause by clause."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import httpx2
from msgspec import Meta

from gateway.backends.cascade.ports import SpeechChunk
from gateway.backends.cascade.remote import Remote, events
from gateway.backends.cascade.voices.spoken_text import Pace, SpokenText
from gateway.events import Json
from gateway.plumbing.wire_json import parse
from media.resample import Resampler
from tts.clauses import ClauseCutter

LONGEST = 4096
"""Characters the API takes; clauses are far shorter."""

Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class SpeechSettings:
    """The settings of `voice = { kind = "openai" }`."""

    kind: str
    model: str
    voice: str
    url: str = "https://api.openai.com/v1"
    api_key_env: str = ""
    "the environment variable that holds the key; empty: the server asks for none"
    instructions: str = ""
    "how to speak, for models that take it"
    speed: Annotated[float, Meta(ge=0.25, le=4)] = 1.0
    rate: Annotated[int, Meta(ge=8000, le=48000)] = 24000
    "samples per second of the server's `pcm`; OpenAI's is 24 kHz, others have their own"
    form: Literal["audio", "sse"] = "audio"
    "bytes as they are, or events; vLLM-Omni and some others take only one"
    connect_seconds: Positive = 2.0
    silent_seconds: Positive = 4.0
    extra: Json = field(default_factory=dict)
    "more fields of the request, as the server knows them"


class OpenAISpeech:
    """Implements `Voice`; one for all calls."""

    def __init__(self, settings: SpeechSettings, api_key: str = "") -> None:
        self._settings = settings
        self._remote = Remote(
            settings.url, api_key, settings.connect_seconds, settings.silent_seconds
        )
        self._pace = Pace()

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Speak a stream of tokens; each clause is asked for once it is whole."""
        cutter = ClauseCutter()
        async for token in texts:
            for clause in cutter.push(token):
                async with aclosing(self._say(clause, rate)) as chunks:
                    async for chunk in chunks:
                        yield chunk
        async with aclosing(self._say("".join(cutter.flush()), rate)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        """Close every connection."""
        await self._remote.close()

    async def _say(self, clause: str, rate: int) -> AsyncGenerator[SpeechChunk, None]:
        if not clause.strip():
            return
        spoken = SpokenText(rate, self._pace)
        spoken.add(clause)
        spoken.whole()
        resampler = Resampler(self._settings.rate, rate)
        async with self._remote.post("/audio/speech", json=self._body(clause)) as answer:
            rest = b""
            async with aclosing(self._sound(answer)) as sound:
                async for piece in sound:
                    whole = rest + piece
                    rest = whole[len(whole) & ~1 :]
                    pcm = resampler.feed(whole[: len(whole) & ~1])
                    if pcm:
                        text, words = spoken.sound(len(pcm) // 2)
                        yield SpeechChunk(pcm, text, words)
        if pcm := resampler.flush():
            text, words = spoken.sound(len(pcm) // 2)
            yield SpeechChunk(pcm, text, words)
        if not spoken.seconds:
            raise OSError("the voice gave no sound")
        text, words = spoken.end()
        if text:
            yield SpeechChunk(b"", text, words)

    def _body(self, clause: str) -> dict[str, Any]:
        settings = self._settings
        body: dict[str, Any] = {
            "model": settings.model,
            "voice": settings.voice,
            "input": clause.strip()[:LONGEST],
            "response_format": "pcm",
            "stream_format": settings.form,
        }
        if settings.instructions:
            body["instructions"] = settings.instructions
        if settings.speed != 1.0:
            body["speed"] = settings.speed
        return {**body, **settings.extra}

    async def _sound(self, answer: httpx2.Response) -> AsyncGenerator[bytes, None]:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            async for piece in answer.aiter_bytes():
                yield piece
            return
        async with aclosing(events(answer)) as told:
            async for data in told:
                event = _parsed(data)
                if "error" in event:
                    raise OSError(f"the voice failed: {str(event['error'])[:200]}")
                if event.get("type") == "speech.audio.delta":
                    yield base64.b64decode(str(event.get("audio") or event.get("delta") or ""))


def _parsed(data: bytes | str) -> dict[str, Any]:
    try:
        event = parse(data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise OSError(f"the voice is not understood: {data[:80]!r}")
    return event
