"""The sockets of a cascade: what its recogniser, its language model and its voice must offer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from gateway.events import Entry, Json, Word
from gateway.ports import ToolSpec
from media.frame import AudioFrame


@dataclass(frozen=True, slots=True)
class TurnAdvice:
    """What a recogniser that judges turns says of the present one."""

    kind: Literal["started", "heard", "eager", "resumed", "ended"]
    position: int
    "up to where it had listened"
    probability: float | None = None
    "that the caller is done"


@dataclass(frozen=True, slots=True)
class Transcript:
    """Words of a stretch of sound."""

    text: str
    final: bool = True
    turn: TurnAdvice | None = None
    "with partials of recognisers that judge turns too"


class RecogniserStream(Protocol):
    """One caller's sound on its way to words."""

    async def serve(self) -> None:
        """Keep what the stream needs, such as a connection, until cancelled; runs beside its use,
        and returns at once where nothing is needed."""

    def feed(self, frame: AudioFrame) -> None:
        """Take the next frame; must not block."""

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        """Return the words in [start, end) samples; raises OSError or TimeoutError on failure."""

    async def close(self) -> None:
        """Let go of everything."""


class Recogniser(Protocol):
    """Turns speech into words."""

    @property
    def drives(self) -> bool:
        """It decides itself when the caller is done."""

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> RecogniserStream:
        """Begin a caller's stream; `on_words` hears partials from recognisers that stream."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a language model; grows only at its end from turn to turn."""

    call_id: str
    instructions: str
    history: tuple[Entry, ...]
    tools: tuple[ToolSpec, ...] = ()
    priority: Literal["confirmed", "draft", "background"] = "confirmed"
    variables: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next tokens."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolDelta:
    """A complete tool request."""

    ask: str
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What the model counted."""

    figures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Expectation:
    """The model knows what it asks for: evidence for turn-taking."""

    expects: str
    "`yes_no`, `name`, `digits`, `spelling`, `open`"
    profile: str = ""


ModelEvent = TextDelta | ToolDelta | ModelUsage | Expectation


class LanguageModel(Protocol):
    """Thinks of what to say."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Return the reply as it comes; closing the iterator stops the generation."""

    def elsewhere(self) -> LanguageModel:
        """Return the same model for a request that runs beside another one: at another server,
        where it has several."""


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """Sound of a voice."""

    pcm: bytes
    "signed 16-bit little-endian at the rate asked for"
    text: str
    "the written words this chunk speaks, as the model wrote them"
    words: tuple[Word, ...] = ()
    "times from the first sample of this chunk"


class Voice(Protocol):
    """Speaks."""

    def speak(self, texts: AsyncIterator[str], rate: int) -> AsyncGenerator[SpeechChunk, None]:
        """Speak a stream of tokens, giving sound at `rate` as early as it can be had."""
