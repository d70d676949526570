"""Cartesia's streaming socket, `/tts/websocket`: utterances are contexts of one connection.

It tells when each word sounds. The facts are those of the vendor's own client, `cartesia` 4.2.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from gateway.backends.cascade.voices.dialect import NOTHING, VoiceDialect, VoiceNews
from gateway.plumbing.wire_json import decode

RATES = (8000, 16000, 22050, 24000, 44100, 48000)
"""What `sample_rate` may be."""

VERSION = "2026-08-14"
"""Of the API; the client of that name sends it."""

Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class CartesiaSettings:
    """The settings of `voice = { kind = "cartesia" }`."""

    kind: str
    voice: str
    "the voice's id"
    model: str = "sonic-3"
    language: str = ""
    "two letters; empty: the model's default"
    url: str = "wss://api.cartesia.ai"
    api_key_env: str = "CARTESIA_API_KEY"
    buffer: Annotated[float, Meta(ge=0, le=5)] = 0.4
    "seconds it may wait for more text before it begins; longer: better melody"
    connect_seconds: Positive = 3.0
    silent_seconds: Positive = 4.0


class _Words(msgspec.Struct):
    start: list[float] = []
    end: list[float] = []


class _Event(msgspec.Struct):
    type: str
    context_id: str | None = None
    data: str = ""
    word_timestamps: _Words | None = None
    title: str | None = None
    message: str | None = None


_DECODER = msgspec.json.Decoder(_Event)


@dataclass(frozen=True, slots=True)
class Cartesia:
    """Makes connections."""

    settings: CartesiaSettings
    api_key: str

    @property
    def connect_seconds(self) -> float:
        """Seconds a connection may take."""
        return self.settings.connect_seconds

    @property
    def silent_seconds(self) -> float:
        """Seconds it may be silent."""
        return self.settings.silent_seconds

    def connection(self, rate: int) -> VoiceDialect:
        """Make one connection's protocol."""
        return CartesiaConnection(self.settings, self.api_key, rate)


class CartesiaConnection:
    """One connection; what belongs to an older context is void."""

    times = True
    reusable = True
    clean = True

    def __init__(self, settings: CartesiaSettings, api_key: str, rate: int) -> None:
        self.rate = rate if rate in RATES else 24000
        self._settings = settings
        self._api_key = api_key
        self._context = 0

    def url(self) -> str:
        """Return the address."""
        query = {"cartesia_version": VERSION}
        return f"{self._settings.url}/tts/websocket?{urlencode(query)}"

    def headers(self) -> Mapping[str, str]:
        """Return the key."""
        return {"Authorization": f"Bearer {self._api_key}", "Cartesia-Version": VERSION}

    def begin(self) -> Sequence[str]:
        """Choose a new context."""
        self._context += 1
        return ()

    def say(self, text: str) -> Sequence[str]:
        """Add text; what was said before may decide how it is spoken."""
        return (json.dumps(self._request(text, more=True)),)

    def finish(self) -> Sequence[str]:
        """End the context's text."""
        return (json.dumps(self._request("", more=False)),)

    def cancel(self) -> Sequence[str]:
        """Stop the context; the next one has another name."""
        return (json.dumps({"context_id": f"u{self._context}", "cancel": True}),)

    def receive(self, message: bytes) -> VoiceNews:
        """Take a message."""
        try:
            event = decode(_DECODER, message)
            pcm = base64.b64decode(event.data)
        except ValueError as wrong:
            raise ValueError(f"{wrong}: {message[:80]!r}") from None
        if event.context_id not in (None, f"u{self._context}"):
            return NOTHING
        match event.type:
            case "chunk":
                return VoiceNews(pcm)
            case "timestamps" if event.word_timestamps is not None:
                words = event.word_timestamps
                return VoiceNews(times=tuple(zip(words.start, words.end, strict=False)))
            case "done":
                return VoiceNews(done=True)
            case "error":
                raise OSError(f"the voice failed: {event.title} {event.message}"[:200])
            case _:
                return NOTHING

    def sound(self, message: bytes) -> VoiceNews:
        """Refuse what the protocol does not have."""
        raise ValueError("a binary message")

    def _request(self, text: str, *, more: bool) -> dict[str, Any]:
        settings = self._settings
        request: dict[str, Any] = {
            "context_id": f"u{self._context}",
            "model_id": settings.model,
            "transcript": text,
            "voice": {"mode": "id", "id": settings.voice},
            "output_format": {
                "container": "raw",
                "encoding": "pcm_s16le",
                "sample_rate": self.rate,
            },
            "continue": more,
            "add_timestamps": True,
            "max_buffer_delay_ms": round(settings.buffer * 1000),
        }
        if settings.language:
            request["language"] = settings.language
        return request
