"""Recognisers that hear a turn as a whole, once it is over or pauses: the sound is kept here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gateway.backends.cascade.ports import Transcript
from gateway.backends.cascade.recognisers.caller_sound import SoundRing, speech_span
from media.frame import AudioFrame

KEPT_SECONDS = 60.0
"""Sound that can be asked about; longer turns are asked about in parts, at their pauses."""

AROUND = 0.3
"""Seconds taken on both sides of a turn; words at the very edge are misheard."""

SHORTEST = 0.06
"""Seconds of speech below which there is no word; large recognisers invent some."""


@dataclass(frozen=True, slots=True)
class Question:
    """A turn's sound, to be written down."""

    pcm: bytes
    rate: int
    hints: tuple[str, ...]
    partial: Callable[[str], None]
    "hears the words so far, where they come bit by bit"


Write = Callable[[Question], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class TurnwiseRecogniser:
    """Implements `Recogniser`; `write` raises OSError or TimeoutError when it cannot."""

    write: Write
    let_go: Callable[[], Awaitable[None]] | None = None
    "closes connections that are kept between turns"

    async def close(self) -> None:
        """Close every connection."""
        if self.let_go is not None:
            await self.let_go()

    @property
    def drives(self) -> bool:
        """It hears of a turn when that is over."""
        return False

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> TurnwiseSound:
        """Begin a caller's stream."""
        return TurnwiseSound(self.write, rate, tuple(hints), on_words)


class TurnwiseSound:
    """One caller's last minute."""

    def __init__(
        self,
        write: Write,
        rate: int,
        hints: tuple[str, ...],
        on_words: Callable[[Transcript], None] | None,
    ) -> None:
        self._write = write
        self._rate = rate
        self._hints = hints
        self._on_words = on_words
        self._ring = SoundRing(rate, KEPT_SECONDS)

    async def serve(self) -> None:
        """Return at once: there is nothing to keep."""

    def feed(self, frame: AudioFrame) -> None:
        """Keep the next frame."""
        self._ring.push(frame.start, frame.samples())

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        """Return the words in [start, end); nothing is asked about sound without speech."""
        around = int(AROUND * self._rate)
        samples = self._ring.take(start - around, end + around)
        span = speech_span(samples, self._rate)
        if span is None or span[1] - span[0] < SHORTEST * self._rate:
            return Transcript("", final=final)
        turn = samples[max(0, span[0] - around) : span[1] + around]
        question = Question(turn.tobytes(), self._rate, self._hints, self._partial)
        text = await self._write(question)
        return Transcript(text.strip(), final=final)

    async def close(self) -> None:
        """Let go of the sound."""
        self._ring = SoundRing(self._rate, 0.1)

    def _partial(self, text: str) -> None:
        if self._on_words is not None:
            self._on_words(Transcript(text, final=False))
