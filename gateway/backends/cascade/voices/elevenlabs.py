"""ElevenLabs' streaming socket, `/v1/text-to-speech/{voice}/stream-input`.

A connection speaks one utterance. It tells when each character sounds, relative to the piece of
sound it comes with. The facts are those of the vendor's own client, `elevenlabs` 2.78.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from gateway.backends.cascade.voices.dialect import NOTHING, VoiceDialect, VoiceNews
from gateway.plumbing.wire_json import decode

Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class ElevenLabsSettings:
    """The settings of `voice = { kind = "elevenlabs" }`."""

    kind: str
    voice: str
    "the voice's id"
    model: str = "eleven_flash_v2_5"
    url: str = "wss://api.elevenlabs.io"
    api_key_env: str = "ELEVENLABS_API_KEY"
    schedule: tuple[Annotated[int, Meta(ge=5, le=500)], ...] = (50, 90, 120)
    "characters after which sound is made of what there is, for the first piece, the second, ..."
    connect_seconds: Positive = 3.0
    silent_seconds: Positive = 4.0


class _Alignment(msgspec.Struct, rename="camel"):
    chars: list[str] = []
    char_start_times_ms: list[float] = []
    char_durations_ms: list[float] = []


class _Event(msgspec.Struct, rename="camel"):
    audio: str | None = None
    is_final: bool | None = None
    alignment: _Alignment | None = None
    error: str | None = None
    message: str | None = None


_DECODER = msgspec.json.Decoder(_Event)


@dataclass(frozen=True, slots=True)
class ElevenLabs:
    """Makes connections."""

    settings: ElevenLabsSettings
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
        return ElevenLabsConnection(self.settings, self.api_key, rate)


class ElevenLabsConnection:
    """One utterance."""

    times = True
    reusable = False
    clean = True

    def __init__(self, settings: ElevenLabsSettings, api_key: str, rate: int) -> None:
        self.rate = 16000 if rate <= 16000 else 24000
        self._settings = settings
        self._api_key = api_key
        self._samples = 0
        self._word: tuple[float, float] | None = None
        "the word that is still going on"

    def url(self) -> str:
        """Return the address."""
        query = {"model_id": self._settings.model, "output_format": f"pcm_{self.rate}"}
        base = f"{self._settings.url}/v1/text-to-speech/{self._settings.voice}/stream-input"
        return f"{base}?{urlencode(query)}"

    def headers(self) -> Mapping[str, str]:
        """Return the key."""
        return {"xi-api-key": self._api_key}

    def begin(self) -> Sequence[str]:
        """Open with the blank the protocol wants."""
        schedule = {"chunk_length_schedule": list(self._settings.schedule)}
        return (json.dumps({"text": " ", "generation_config": schedule}),)

    def say(self, text: str) -> Sequence[str]:
        """Add text; it should always end with a space."""
        return (json.dumps({"text": text if text.endswith(" ") else f"{text} "}),)

    def finish(self) -> Sequence[str]:
        """End with the empty text the protocol wants."""
        return (json.dumps({"text": ""}),)

    def cancel(self) -> Sequence[str]:
        """Say nothing: the connection is closed, which stops it."""
        return ()

    def receive(self, message: bytes) -> VoiceNews:
        """Take a message."""
        try:
            event = decode(_DECODER, message)
            pcm = base64.b64decode(event.audio or "")
        except ValueError as wrong:
            raise ValueError(f"{wrong}: {message[:80]!r}") from None
        if event.error:
            raise OSError(f"the voice failed: {event.message or event.error}"[:200])
        start = self._samples / self.rate
        self._samples += len(pcm) // 2
        times = self._words(event.alignment, start) if event.alignment is not None else []
        done = bool(event.is_final)
        if done and self._word is not None:
            times.append(self._word)
            self._word = None
        return VoiceNews(pcm, tuple(times), done) if pcm or times or done else NOTHING

    def sound(self, message: bytes) -> VoiceNews:
        """Refuse what the protocol does not have."""
        raise ValueError("a binary message")

    def _words(self, alignment: _Alignment, start: float) -> list[tuple[float, float]]:
        """Return the words that are over; a word may go on in the next piece."""
        found: list[tuple[float, float]] = []
        each = zip(
            alignment.chars,
            alignment.char_start_times_ms,
            alignment.char_durations_ms,
            strict=False,
        )
        for char, begin_ms, length_ms in each:
            begin = start + begin_ms / 1000
            if char.isspace():
                if self._word is not None:
                    found.append(self._word)
                self._word = None
            else:
                first = begin if self._word is None else self._word[0]
                self._word = (first, begin + length_ms / 1000)
        return found
