"""Parts of a cascade for tests: a caller's speech that says what it is, and who understands it.

The caller's speech is a square wave whose level says which sentence it is, so that a fake
recogniser knows the words from the sound alone, however often and in whatever pieces it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gateway.backends.cascade.ports import RecogniserStream, SpeechChunk, Transcript
from gateway.events import Word
from media.frame import AudioFrame
from tts.clauses import ClauseCutter

RATE = 8000
FRAME = RATE // 50
LOWEST, STEP = 2000, 200
SECONDS_A_WORD = 0.25


def speech(sentence: int, samples: int) -> bytes:
    """Make the sound of the caller's sentence of that number."""
    wave = np.full(samples, LOWEST + STEP * sentence, np.int16)
    wave[np.arange(samples) // 4 % 2 == 1] *= -1
    return wave.tobytes()


def sentence_of(pcm: bytes) -> int | None:
    """Return the number of the sentence that is spoken in some sound; None: none is."""
    samples = np.abs(np.frombuffer(pcm, np.int16).astype(np.int32))
    loud = samples[samples > LOWEST // 2]
    if len(loud) * 2 < len(samples) or not len(loud):
        return None
    return round((float(np.median(loud)) - LOWEST) / STEP)


class Sentences:
    """What callers say, by number; shared by the callers and the fake recognisers."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)


@dataclass
class LevelRecogniser:
    """Knows the words by the level of the sound; answers after `seconds`."""

    sentences: Sentences
    seconds: float = 0.05
    drives: bool = False

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> RecogniserStream:
        return _LevelStream(self)


class _LevelStream:
    def __init__(self, recogniser: LevelRecogniser) -> None:
        self.recogniser = recogniser
        self.frames: list[AudioFrame] = []

    async def serve(self) -> None: ...

    def feed(self, frame: AudioFrame) -> None:
        self.frames.append(frame)

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        await asyncio.sleep(self.recogniser.seconds)
        heard: list[int] = []
        for frame in self.frames:
            if frame.start < end and frame.end > start:
                found = sentence_of(frame.pcm)
                if found is not None and found not in heard:
                    heard.append(found)
        return Transcript(" ".join(self.recogniser.sentences.texts[n] for n in heard), final=final)

    async def close(self) -> None:
        self.frames.clear()


class ClauseTones:
    """A voice that gives each clause a tone at once, with word times."""

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        cutter = ClauseCutter()
        async for token in texts:
            for clause in cutter.push(token):
                yield self._say(clause, rate)
        rest = "".join(cutter.flush())
        if rest.strip():
            yield self._say(rest, rate)

    def _say(self, clause: str, rate: int) -> SpeechChunk:
        words = clause.split()
        times = tuple(
            Word(word, n * SECONDS_A_WORD, (n + 1) * SECONDS_A_WORD) for n, word in enumerate(words)
        )
        samples = int(len(words) * SECONDS_A_WORD * rate)
        return SpeechChunk(np.full(samples, 900, np.int16).tobytes(), clause, times)
