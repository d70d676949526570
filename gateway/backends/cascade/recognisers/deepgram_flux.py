"""Deepgram Flux, `/v2/listen`: words and turns from one model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from gateway.backends.cascade.deepgram_common import CLOSE_STREAM, MOST_HINTS, key_headers
from gateway.backends.cascade.ports import Transcript, TurnAdvice
from gateway.backends.cascade.recognisers.dialect import Message
from gateway.backends.cascade.recognisers.heard import HeardWord, HeardWords, spread
from gateway.plumbing.wire_json import decode

QUIET = 1.0
"""Seconds that a word may lag behind what was listened to; older silence is settled."""

KINDS: Mapping[str, Literal["started", "heard", "eager", "resumed", "ended"]] = {
    "StartOfTurn": "started",
    "Update": "heard",
    "EagerEndOfTurn": "eager",
    "TurnResumed": "resumed",
    "EndOfTurn": "ended",
}


@dataclass(frozen=True, slots=True)
class DeepgramFluxSettings:
    """The settings of `recogniser = { kind = "deepgram-flux" }`."""

    kind: str
    model: str = "flux-general-en"
    url: str = "wss://api.deepgram.com/v2/listen"
    api_key_env: str = "DEEPGRAM_API_KEY"
    language_hints: tuple[str, ...] = ()
    "for `flux-general-multi`"
    turns: Literal["ignore", "advise", "drive"] = "advise"
    "its end-of-turn events do nothing, inform our own turn-taking, or decide in its place"
    eot_threshold: Annotated[float, Meta(ge=0.5, le=1)] = 0.7
    "confidence at which it calls a turn over (Deepgram's default)"
    eager_eot_threshold: Annotated[float, Meta(ge=0.3, le=0.9)] | None = 0.5
    "confidence at which a turn is probably over; empty: it does not say"
    eot_timeout: Annotated[float, Meta(ge=0.5, le=60)] = 5.0
    "seconds of silence after which a turn is over, whatever it thinks"
    force_end: bool = False
    "end its turn when ours has ended, for words that are final sooner, and colder at the next turn"
    connect_seconds: Annotated[float, Meta(gt=0)] = 3.0
    answer_seconds: Annotated[float, Meta(gt=0)] = 2.5

    def __post_init__(self) -> None:
        eager = self.eager_eot_threshold
        if eager is not None and eager > self.eot_threshold:
            raise ValueError("eager_eot_threshold may not be above eot_threshold")


class _Word(msgspec.Struct):
    word: str
    start: float | None = None
    end: float | None = None


class _Info(msgspec.Struct, tag_field="type", tag="TurnInfo"):
    event: str
    audio_window_start: float
    audio_window_end: float
    transcript: str
    words: list[_Word] = []
    end_of_turn_confidence: float | None = None


class _Connected(msgspec.Struct, tag_field="type", tag="Connected"):
    pass


class _Error(msgspec.Struct, tag_field="type", tag="Error"):
    code: str = ""
    description: str = ""


class _Warning(msgspec.Struct, tag_field="type", tag="Warning"):
    pass


class _Configured(msgspec.Struct, tag_field="type", tag="ConfigureSuccess"):
    pass


class _NotConfigured(msgspec.Struct, tag_field="type", tag="ConfigureFailure"):
    pass


_DECODER = msgspec.json.Decoder(
    _Info | _Connected | _Error | _Warning | _Configured | _NotConfigured
)


@dataclass(frozen=True, slots=True)
class DeepgramFlux:
    """Makes connections to Flux."""

    settings: DeepgramFluxSettings
    api_key: str

    @property
    def connect_seconds(self) -> float:
        """Seconds a connection may take."""
        return self.settings.connect_seconds

    @property
    def answer_seconds(self) -> float:
        """Seconds that words may take."""
        return self.settings.answer_seconds

    @property
    def flushes(self) -> bool:
        """Whether its turn is ended with ours."""
        return self.settings.force_end

    def connection(
        self, words: HeardWords, rate: int, origin: int, hints: tuple[str, ...]
    ) -> FluxConnection:
        """Make one connection's protocol."""
        return FluxConnection(self.settings, self.api_key, words, rate, origin, hints)


class FluxConnection:
    """One connection; its times count from its first sample."""

    def __init__(
        self,
        settings: DeepgramFluxSettings,
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

    def url(self) -> str:
        """Return the address with everything that is wanted."""
        settings = self._settings
        query: list[tuple[str, str]] = [
            ("model", settings.model),
            ("encoding", "linear16"),
            ("sample_rate", str(self._rate)),
            ("eot_threshold", f"{settings.eot_threshold:g}"),
            ("eot_timeout_ms", str(round(settings.eot_timeout * 1000))),
        ]
        if settings.eager_eot_threshold is not None:
            query.append(("eager_eot_threshold", f"{settings.eager_eot_threshold:g}"))
        query += [("language_hint", hint) for hint in settings.language_hints]
        query += [("keyterm", hint) for hint in self._hints[:MOST_HINTS]]
        return f"{settings.url}?{urlencode(query)}"

    def headers(self) -> Mapping[str, str]:
        """Return the key."""
        return key_headers(self._api_key)

    def hello(self) -> list[Message]:
        """Say nothing: everything is in the address."""
        return []

    def sound(self, pcm: bytes) -> list[Message]:
        """Send it as it is."""
        return [pcm]

    def flush(self) -> list[Message]:
        """End its turn."""
        return [json.dumps({"type": "ForceEndTurn"})]

    def goodbye(self) -> list[Message]:
        """End the stream."""
        return [CLOSE_STREAM]

    def receive(self, message: bytes) -> Transcript | None:
        """Take what it heard; `transcript` and `words` are always the whole turn so far."""
        try:
            event = decode(_DECODER, message)
        except ValueError as wrong:
            raise ValueError(f"{wrong}: {message[:80]!r}") from None
        match event:
            case _Info():
                return self._info(event)
            case _Error(code=code, description=description):
                raise OSError(f"{code} {description}"[:200])
            case _:
                return None

    def _info(self, info: _Info) -> Transcript:
        until = self._position(info.audio_window_end)
        words = self._turn_words(info)
        if info.event == "EndOfTurn":
            self._words.settle(words, until)
        else:
            self._words.replace(words, until)
            self._words.quiet(until - int(QUIET * self._rate))
        kind = KINDS.get(info.event, "heard")  # one more event some day has words at least
        advice = TurnAdvice(kind, until, info.end_of_turn_confidence)
        return Transcript(info.transcript, final=kind == "ended", turn=advice)

    def _turn_words(self, info: _Info) -> list[HeardWord]:
        timed = [
            HeardWord(word.word, self._position(word.start), self._position(word.end))
            for word in info.words
            if word.start is not None and word.end is not None
        ]
        if timed and len(timed) == len(info.words):
            return timed
        start, end = info.audio_window_start, info.audio_window_end
        return list(spread(info.transcript, self._position(start), self._position(end)))

    def _position(self, seconds: float) -> int:
        return self._origin + round(seconds * self._rate)
