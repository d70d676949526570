"""Speaks a stream of tokens with the embedded voice, clause by clause, and remembers clauses."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inference.pool import Priority
from inference.runtime import Runtime
from media.resample import convert
from tts.clauses import ClauseCutter
from tts.hibari import RATE, Hibari, SpokenWord

CACHE_BYTES = 32 * 1024 * 1024
"""Sound of clauses that is kept: half an hour at 8 kHz. Agents repeat themselves more than people
do, and a repeated clause costs nothing."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause as sound."""

    pcm: bytes
    "signed 16-bit little-endian at the rate asked for"
    text: str
    "as it was written"
    words: tuple[SpokenWord, ...]
    "times from the first sample"


class ClauseVoice:
    """One voice for all calls."""

    def __init__(self, runtime: Runtime, cache_bytes: int = CACHE_BYTES) -> None:
        self._runtime = runtime
        self._engine = Hibari(runtime)
        self._cache: OrderedDict[tuple[str, int], Clause] = OrderedDict()
        self._bytes = 0
        self._limit = cache_bytes

    def load(self) -> None:
        """Load the models now; raises ModelMissing or ModelWrong."""
        self._engine.load()

    async def say(self, text: str, rate: int, priority: Priority = Priority.DECISION) -> Clause:
        """Speak one clause at `rate`; raises OSError when the voice fails."""
        key = (text.strip(), rate)
        known = self._cache.get(key)
        if known is not None:
            self._cache.move_to_end(key)
            return Clause(known.pcm, text, known.words)
        try:
            clause = await self._runtime.run(lambda: self._make(text, rate), priority=priority)
        except RuntimeError as error:  # refused by the pool, or by the model
            raise OSError(f"the voice failed: {error}") from error
        self._keep(key, clause)
        return clause

    async def speak(self, texts: AsyncIterator[str], rate: int) -> AsyncIterator[Clause]:
        """Speak tokens as they come, in order; closing the iterator leaves nothing running."""
        cutter = ClauseCutter()
        first = True
        async for token in texts:
            for text in cutter.push(token):
                if text.strip():
                    yield await self.say(text, rate, _priority(first))
                    first = False
        rest = cutter.flush()
        if rest.strip():
            yield await self.say(rest, rate, _priority(first))

    def _make(self, text: str, rate: int) -> Clause:
        spoken = self._engine.say(text)
        pcm = convert(_pcm(spoken.samples), RATE, rate)
        return Clause(pcm, text, spoken.words)

    def _keep(self, key: tuple[str, int], clause: Clause) -> None:
        self._cache[key] = clause
        self._bytes += len(clause.pcm)
        while self._bytes > self._limit and len(self._cache) > 1:
            _, old = self._cache.popitem(last=False)
            self._bytes -= len(old.pcm)


def _priority(first: bool) -> Priority:
    return Priority.DECISION if first else Priority.REPLY


def _pcm(samples: npt.NDArray[np.float32]) -> bytes:
    return (np.clip(samples, -1.0, 1.0) * 32767).astype("<i2").tobytes()
