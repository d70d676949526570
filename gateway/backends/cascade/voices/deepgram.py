"""Deepgram's voices: Aura over `/v1/speak`, Flux over `/v2/speak`; both take text as it is made.

Neither says when its words sound. Flux would say after an interruption which text was spoken, if it
were told how much had been played; here the heard-ledger knows that for every voice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from gateway.backends.cascade.deepgram_common import key_headers
from gateway.backends.cascade.voices.dialect import NOTHING, VoiceDialect, VoiceNews
from gateway.plumbing.wire_json import decode

RATES = (8000, 16000, 24000, 32000, 48000)
"""What `sample_rate` may be for linear16."""

Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class DeepgramVoiceSettings:
    """The settings of `voice = { kind = "deepgram" }` and of `"deepgram-flux"`."""

    kind: str
    model: str
    "`aura-2-thalia-en`, or `flux-haley-en` for Flux"
    url: str = "wss://api.deepgram.com"
    "without the path"
    api_key_env: str = "DEEPGRAM_API_KEY"
    connect_seconds: Positive = 3.0
    silent_seconds: Positive = 4.0


class _Event(msgspec.Struct):
    type: str
    code: str = ""
    description: str = ""


_DECODER = msgspec.json.Decoder(_Event)


@dataclass(frozen=True, slots=True)
class Aura:
    """Makes connections to `/v1/speak`, or with `flux` to `/v2/speak`."""

    settings: DeepgramVoiceSettings
    api_key: str
    flux: bool = False

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
        return AuraConnection(self.settings, self.api_key, rate, self.flux)


class AuraConnection:
    """One connection: `Speak` adds text, `Flush` ends an utterance, one more word stops it."""

    times = False
    reusable = True

    def __init__(
        self, settings: DeepgramVoiceSettings, api_key: str, rate: int, flux: bool
    ) -> None:
        self.rate = rate if rate in RATES else 24000
        self._settings = settings
        self._api_key = api_key
        self._flux = flux
        self._clearing = 0
        "answers to a clear that are still to come; sound before them is void"

    @property
    def clean(self) -> bool:
        """Whether every clear was answered."""
        return self._clearing == 0

    def url(self) -> str:
        """Return the address."""
        query = {
            "model": self._settings.model,
            "encoding": "linear16",
            "sample_rate": str(self.rate),
        }
        return f"{self._settings.url}/{'v2' if self._flux else 'v1'}/speak?{urlencode(query)}"

    def headers(self) -> Mapping[str, str]:
        """Return the key."""
        return key_headers(self._api_key)

    def begin(self) -> Sequence[str]:
        """Say nothing: the text begins it."""
        return ()

    def say(self, text: str) -> Sequence[str]:
        """Add text."""
        return (json.dumps({"type": "Speak", "text": text}),)

    def finish(self) -> Sequence[str]:
        """Have the rest spoken; once an utterance, since 20 in a minute are allowed."""
        return (json.dumps({"type": "Flush"}),)

    def cancel(self) -> Sequence[str]:
        """Stop; sound that is on its way still comes, until this is answered."""
        self._clearing += 1
        return (json.dumps({"type": "Interrupt" if self._flux else "Clear"}),)

    def receive(self, message: bytes) -> VoiceNews:
        """Take a message."""
        try:
            event = decode(_DECODER, message)
        except ValueError as wrong:
            raise ValueError(f"{wrong}: {message[:80]!r}") from None
        match event.type:
            case "Flushed":
                return VoiceNews(done=True) if self.clean else NOTHING
            case "Cleared" | "SpeechInterrupted":
                return self._cleared()
            case "Warning" if event.code in ("NO_AUDIO_GENERATED", "INTERRUPT_IN_PROGRESS"):
                return self._cleared()  # there was nothing to stop
            case "Warning" if event.code == "EXCESSIVE_FLUSH":
                raise OSError("the voice ignores the end of the text: too many in a minute")
            case "Error":
                raise OSError(f"the voice failed: {event.code} {event.description}"[:200])
            case _:
                return NOTHING

    def sound(self, message: bytes) -> VoiceNews:
        """Take sound; what was under way when it was stopped is void."""
        return VoiceNews(pcm=message) if self.clean else NOTHING

    def _cleared(self) -> VoiceNews:
        self._clearing = max(0, self._clearing - 1)
        return NOTHING
