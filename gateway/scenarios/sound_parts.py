"""What a call with sound has in the place of models: parts that know what the caller is saying.

The caller's words are a tone, and the agent's another. Which words a stretch of the caller's sound
holds, and whether the sentence is over, stands in the caller's own notes; hearing, turn-taking,
overlap, playout and ledger are the gateway's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gateway.backends.cascade.ports import RecogniserStream, SpeechChunk, Transcript
from gateway.events import Word
from gateway.scenarios.scenario import PAUSE
from media.frame import AudioFrame, Samples
from media.level import level
from tts.clauses import ClauseCutter
from turn.events import TurnAssessed, VoiceScored

RATE = 8000
FRAME = RATE // 50
WORD_SECONDS = 0.25
"""A word at 240 words a minute: quick speech, which leaves the agent the least time."""

FADE = RATE // 8
"""Samples at the end of each word that are softer: a voice that never falls is many, or a noise."""

VOICE_DB = -40.0
"""What is louder is a voice: halfway between the tones and digital silence."""

PAUSE_SECONDS = 0.5

TONE, SOFT_TONE, AGENT_TONE = 3000, 500, 900

FAR = 7
"""By how much softer somebody is who speaks away from the telephone: 17 dB."""

RECOGNISER_SECONDS = 0.05
DETECTOR_SECONDS = 0.03
"""What the embedded models take on one core, about."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word, or with an empty text a sound that is none."""

    text: str
    start: int
    "samples of the caller's stream"
    end: int
    last: bool
    "the sentence is over after it"
    far: bool = False
    "it is said away from the telephone"


@dataclass(slots=True)
class Notes:
    """What the caller has said and will have said, by position."""

    words: list[SpokenWord] = field(default_factory=list)

    @property
    def free(self) -> int:
        """The position from which on the caller says nothing yet."""
        return self.words[-1].end if self.words else 0

    def add(self, text: str, at: int, *, far: bool = False) -> int:
        """Say a sentence from a position on; give where it ends."""
        begins = max(at, self.free)
        size = round(WORD_SECONDS * RATE)
        said = text.split() or [""]
        for n, word in enumerate(said):
            if word == PAUSE:
                begins += round(PAUSE_SECONDS * RATE)
                continue
            last = n + 1 == len(said)
            self.words.append(SpokenWord(word, begins, begins + size, last, far))
            begins += size
        return begins

    def within(self, start: int, end: int) -> list[SpokenWord]:
        """Return the words of which more than half lies in [start, end)."""
        return [
            word
            for word in self.words
            if min(word.end, end) - max(word.start, start) > (word.end - word.start) / 2
        ]

    def sound(self, start: int) -> bytes:
        """Make the frame that begins at a position."""
        at = np.arange(start, start + FRAME)
        loud = np.zeros(FRAME, np.int64)
        for word in reversed(self.words):
            if word.end <= start:
                break
            inside = (at >= word.start) & (at < word.end)
            tone = inside * np.where(at < word.end - FADE, TONE, SOFT_TONE)
            loud += tone // FAR if word.far else tone
        wave = np.where(at // 4 % 2 == 1, -loud, loud)
        return wave.astype("<i2").tobytes()


class ToneVoice:
    """In the place of voice activity: what is loud is a voice."""

    def __init__(self, rate: int, hear: Callable[[VoiceScored], None]) -> None:
        self._size = rate * 32 // 1000  # Silero VAD's window at 8 and 16 kHz
        self._hear = hear
        self._rest = np.zeros(0, np.int16)
        self._at = 0

    def feed(self, samples: Samples) -> None:
        """Take sound."""
        self._rest = np.concatenate([self._rest, samples])
        while len(self._rest) >= self._size:
            window, self._rest = self._rest[: self._size], self._rest[self._size :]
            loud = level(window.astype("<i2").tobytes())
            score = 0.99 if loud > VOICE_DB else 0.01
            self._hear(VoiceScored(self._at, self._at + self._size, score, loud))
            self._at += self._size

    def close(self) -> None:
        """Keep nothing."""


@dataclass
class NotedTurns:
    """In the place of the turn detector: sure at the end of a sentence, and nowhere else."""

    notes: Notes

    def feed(self, samples: Samples) -> None:
        """Take no sound: the notes say it."""

    async def assess(self, start: int, at: int, due_seconds: float) -> TurnAssessed:
        """Return whether the last word before `at` was the last of its sentence."""
        await asyncio.sleep(DETECTOR_SECONDS)
        said = [word for word in self.notes.within(start, at) if word.text]
        return TurnAssessed(at, 0.95 if said and said[-1].last else 0.05)

    def close(self) -> None:
        """Keep nothing."""


@dataclass
class NotedWords:
    """In the place of a recogniser: reads the caller's notes."""

    notes: Notes

    @property
    def drives(self) -> bool:
        """Leave it to turn-taking when the caller is done."""
        return False

    def open(
        self, rate: int, hints: Sequence[str], on_words: Callable[[Transcript], None] | None = None
    ) -> RecogniserStream:
        """Begin a stream."""
        return _NotedStream(self.notes)


@dataclass
class _NotedStream:
    notes: Notes

    async def serve(self) -> None:
        """Keep no connection."""

    def feed(self, frame: AudioFrame) -> None:
        """Take no sound: the notes say it."""

    async def transcribe(self, start: int, end: int, *, final: bool) -> Transcript:
        """Return the words there."""
        await asyncio.sleep(RECOGNISER_SECONDS)
        said = " ".join(word.text for word in self.notes.within(start, end))
        return Transcript(said.strip(), final=final)

    async def close(self) -> None:
        """Keep nothing."""


class ToneSpeech:
    """In the place of a voice: a tone for each clause, with word times."""

    async def speak(
        self, texts: AsyncIterator[str], rate: int
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Speak a stream of tokens."""
        cutter = ClauseCutter()
        async for token in texts:
            for clause in cutter.push(token):
                yield _tone(clause, rate)
        rest = "".join(cutter.flush())
        if rest.strip():
            yield _tone(rest, rate)


def _tone(clause: str, rate: int) -> SpeechChunk:
    line = ToneLine(clause, rate)
    return SpeechChunk(line.pcm, clause, line.words)


class ToneLine:
    """A sentence of the agent's as sound."""

    def __init__(self, text: str, rate: int) -> None:
        said = text.split()
        samples = round(len(said) * WORD_SECONDS * rate)
        self.pcm = np.full(samples, AGENT_TONE, np.int16).tobytes()
        self.words = tuple(
            Word(word, n * WORD_SECONDS, (n + 1) * WORD_SECONDS) for n, word in enumerate(said)
        )


class ToneLines:
    """The agent's fixed sentences, always ready."""

    def ready(self, text: str, rate: int) -> ToneLine:
        """Return a sentence."""
        return ToneLine(text, rate)

    async def render(self, text: str, rate: int) -> ToneLine:
        """Return it too."""
        return ToneLine(text, rate)
