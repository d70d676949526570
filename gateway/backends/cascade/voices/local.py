"""Local speech behind the gateway's ports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from gateway.backends.cascade.ports import SpeechChunk
from gateway.events import Word
from inference.runtime import Runtime
from tts.hibari import Hibari
from tts.lines import Lines, lines_folder
from tts.sound import SpokenWord
from tts.voice import ClauseVoice, Engine


class LocalVoice:
    """A voice of this machine as a `Voice`; the embedded one unless another is given."""

    def __init__(self, runtime: Runtime, engine: Engine | None = None) -> None:
        """Take the runtime; the models are loaded by `load` or by the first clause."""
        self.runtime = runtime
        self.clauses = ClauseVoice(runtime, engine or Hibari(runtime))

    def load(self) -> None:
        """Load the models now; raise ModelMissing or ModelWrong."""
        self.clauses.load()

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Speak a stream of tokens."""
        async with aclosing(self.clauses.speak(texts, rate)) as clauses:
            async for clause in clauses:
                yield SpeechChunk(clause.pcm, clause.text, _words(clause.words))


@dataclass(frozen=True, slots=True)
class Line:
    """A fixed line as sound."""

    pcm: bytes
    words: tuple[Word, ...]


class LocalLines:
    """Fixed lines in a voice of this machine, made once and kept over restarts."""

    def __init__(self, voice: LocalVoice, folder: Path | None = None) -> None:
        """Take the voice and the folder for lines (None: under the user's cache)."""
        self._lines = Lines(voice.runtime, voice.clauses, folder or lines_folder())

    def ready(self, text: str, rate: int) -> Line | None:
        """Return a line that was rendered before."""
        sound = self._lines.ready(text, rate)
        return None if sound is None else Line(sound.pcm, _words(sound.words))

    async def render(self, text: str, rate: int) -> Line:
        """Render a line, or give it again; raises OSError when the voice fails."""
        sound = await self._lines.render(text, rate)
        return Line(sound.pcm, _words(sound.words))


def _words(words: tuple[SpokenWord, ...]) -> tuple[Word, ...]:
    return tuple(Word(word.text, word.start, word.end, glued=word.glued) for word in words)
