"""Deepgram's models behind `/v1/listen`: Nova and others, words alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from gateway.backends.cascade.deepgram_common import CLOSE_STREAM, MOST_HINTS, key_headers
from gateway.backends.cascade.ports import Transcript
from gateway.backends.cascade.recognisers.dialect import Message
from gateway.backends.cascade.recognisers.heard import HeardWord, HeardWords
from gateway.plumbing.wire_json import decode


@dataclass(frozen=True, slots=True)
class DeepgramNovaSettings:
    """The settings of `recogniser = { kind = "deepgram" }`."""

    kind: str
    model: str = "nova-3"
    language: str = ""
    "empty: the model's own default"
    url: str = "wss://api.deepgram.com/v1/listen"
    api_key_env: str = "DEEPGRAM_API_KEY"
    endpointing: Annotated[float, Meta(ge=0.01, le=5)] = 0.3
    "seconds of silence after which its words are final"
    numerals: bool = False
    "write numbers as digits"
    connect_seconds: Annotated[float, Meta(gt=0)] = 3.0
    answer_seconds: Annotated[float, Meta(gt=0)] = 2.5


class _Word(msgspec.Struct):
    word: str
    start: float
    end: float
    punctuated_word: str = ""


class _Alternative(msgspec.Struct):
    transcript: str
    words: list[_Word] = []


class _Channel(msgspec.Struct):
    alternatives: list[_Alternative] = []


class _Results(msgspec.Struct, tag_field="type", tag="Results"):
    start: float
    duration: float
    channel: _Channel
    is_final: bool | None = None
    from_finalize: bool | None = None


class _Error(msgspec.Struct, tag_field="type", tag="Error"):
    description: str = ""
    message: str = ""


class _Metadata(msgspec.Struct, tag_field="type", tag="Metadata"):
    pass


class _SpeechStarted(msgspec.Struct, tag_field="type", tag="SpeechStarted"):
    pass


class _UtteranceEnd(msgspec.Struct, tag_field="type", tag="UtteranceEnd"):
    pass


_DECODER = msgspec.json.Decoder(_Results | _Error | _Metadata | _SpeechStarted | _UtteranceEnd)


@dataclass(frozen=True, slots=True)
class DeepgramNova:
    """Makes connections to `/v1/listen`."""

    settings: DeepgramNovaSettings
    api_key: str

    @property
    def flushes(self) -> bool:
        """`Finalize` gives what is known at once, and costs the model nothing it knows."""
        return True

    @property
    def connect_seconds(self) -> float:
        """Seconds a connection may take."""
        return self.settings.connect_seconds

    @property
    def answer_seconds(self) -> float:
        """Seconds that words may take."""
        return self.settings.answer_seconds

    def connection(
        self, words: HeardWords, rate: int, origin: int, hints: tuple[str, ...]
    ) -> NovaConnection:
        """Make one connection's protocol."""
        return NovaConnection(self.settings, self.api_key, words, rate, origin, hints)


class NovaConnection:
    """One connection; its times count from its first sample."""

    def __init__(
        self,
        settings: DeepgramNovaSettings,
        api_key: str,
        words: HeardWords,
        rate: int,
        origin: int,
        hints: Sequence[str],
    ) -> None:
        self._settings = settings
        self._api_key = api_key
        self._words = words
        self._rate = rate
        self._origin = origin
        self._hints = hints
        self._sent = origin
        self._asked: list[int] = []
        "where each unanswered `Finalize` stood"

    def url(self) -> str:
        """Return the address with everything that is wanted."""
        settings = self._settings
        query: list[tuple[str, str]] = [
            ("model", settings.model),
            ("encoding", "linear16"),
            ("sample_rate", str(self._rate)),
            ("channels", "1"),
            ("interim_results", "true"),
            ("punctuate", "true"),
            ("endpointing", str(round(settings.endpointing * 1000))),
        ]
        if settings.language:
            query.append(("language", settings.language))
        if settings.numerals:
            query.append(("numerals", "true"))
        query += [("keyterm", hint) for hint in self._hints[:MOST_HINTS]]
        return f"{settings.url}?{urlencode(query)}"

    def headers(self) -> Mapping[str, str]:
        """Return the key."""
        return key_headers(self._api_key)

    def hello(self) -> list[Message]:
        """Say nothing: everything is in the address."""
        return []

    def sound(self, pcm: bytes) -> list[Message]:
        """Send it as it is; an empty message would end the stream."""
        self._sent += len(pcm) // 2
        return [pcm] if pcm else []

    def flush(self) -> list[Message]:
        """Ask for everything that is known."""
        self._asked.append(self._sent)
        return [json.dumps({"type": "Finalize"})]

    def goodbye(self) -> list[Message]:
        """End the stream."""
        return [CLOSE_STREAM]

    def receive(self, message: bytes) -> Transcript | None:
        """Take what it heard: a stretch that is final, or the present state of an open one."""
        try:
            event = decode(_DECODER, message)
        except ValueError as wrong:
            raise ValueError(f"{wrong}: {message[:80]!r}") from None
        match event:
            case _Results():
                return self._results(event)
            case _Error(description=description, message=text):
                raise OSError((description or text or "an error of the server")[:200])
            case _:
                return None

    def _results(self, results: _Results) -> Transcript:
        best = results.channel.alternatives[0] if results.channel.alternatives else None
        words = [
            HeardWord(
                word.punctuated_word or word.word,
                self._position(word.start),
                self._position(word.end),
            )
            for word in (best.words if best is not None else ())
        ]
        until = self._position(results.start + results.duration)
        if results.from_finalize:
            until = max(until, self._asked.pop(0) if self._asked else 0)
        if results.is_final:
            self._words.settle(words, until)
        else:
            self._words.replace(words, until)
        return Transcript(best.transcript if best is not None else "", final=bool(results.is_final))

    def _position(self, seconds: float) -> int:
        return self._origin + round(seconds * self._rate)
