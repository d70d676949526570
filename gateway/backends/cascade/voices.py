"""Local speech behind the gateway's ports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from gateway.events import Word
from gateway.ports import SpeechChunk
from inference.runtime import Runtime
from tts.voice import Clause, ClauseVoice


class LocalVoice:
    """The embedded voice as a `Voice`."""

    def __init__(self, runtime: Runtime) -> None:
        self.clauses = ClauseVoice(runtime)

    def load(self) -> None:
        """Load the models now; raises ModelMissing or ModelWrong."""
        self.clauses.load()

    async def speak(self, texts: AsyncIterator[str], rate: int) -> AsyncIterator[SpeechChunk]:
        """Speak a stream of tokens."""
        async for clause in self.clauses.speak(texts, rate):
            yield SpeechChunk(clause.pcm, clause.text, _words(clause))


@dataclass(frozen=True, slots=True)
class Line:
    """A fixed line as sound."""

    pcm: bytes
    words: tuple[Word, ...]


class LocalLines:
    """Fixed lines, rendered once and kept for the life of the process."""

    def __init__(self, voice: LocalVoice) -> None:
        self._voice = voice
        self._lines: dict[tuple[str, int], Line] = {}

    def ready(self, text: str, rate: int) -> Line | None:
        """Give a line that was rendered before."""
        return self._lines.get((text, rate))

    async def render(self, text: str, rate: int) -> Line:
        """Render a line, or give it again; raises OSError when the voice fails."""
        known = self._lines.get((text, rate))
        if known is None:
            clause = await self._voice.clauses.say(text, rate)
            known = self._lines[text, rate] = Line(clause.pcm, _words(clause))
        return known


def _words(clause: Clause) -> tuple[Word, ...]:
    return tuple(Word(word.text, word.start, word.end) for word in clause.words)
