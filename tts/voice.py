"""Speaks a stream of tokens clause by clause, and remembers clauses.

The next clause is made while the one before it is handed on, and what was begun for a text that
nobody wants any more is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from inference.errors import in_words
from inference.pool import Priority, again
from inference.runtime import Runtime
from tts.cache import SoundCache
from tts.clauses import ClauseCutter, ClauseSettings
from tts.normalise import Language
from tts.sound import PAUSES, Sound, SpokenWord, join, silence

CACHE_BYTES = 32 * 1024 * 1024
"""Sound of clauses that is kept: half an hour at 8 kHz. Agents repeat themselves more than people
do, and a repeated clause costs nothing."""

AHEAD = 2
"""Clauses in the making at once: the one that is wanted now, and the next."""


class Engine(Protocol):
    """What makes sound of text."""

    name: str
    "of the voice, with its version: sound is kept under it"
    language: Language

    def load(self) -> None:
        """Load what is needed; called in any thread, any number of times."""

    def render(self, text: str, rate: int, *, goes_on: bool = False) -> Sound:
        """Speak a clause, blocking, in a worker thread; `goes_on`: it is cut out of a sentence."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause as sound."""

    pcm: bytes
    "signed 16-bit little-endian at the rate asked for, the pause before it included"
    text: str
    "as it was written, with the space after it"
    words: tuple[SpokenWord, ...]
    "times from the first sample"


class ClauseVoice:
    """One voice for all calls."""

    def __init__(
        self,
        runtime: Runtime,
        engine: Engine,
        settings: ClauseSettings | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        """Take the runtime, whose threads do the work, and what makes the sound."""
        self.engine = engine
        self._runtime = runtime
        self._settings = settings or ClauseSettings()
        self._cache = SoundCache(cache_bytes)

    def load(self) -> None:
        """Load the models now; raise ModelMissing or ModelWrong."""
        self.engine.load()

    async def say(self, text: str, rate: int, priority: Priority = Priority.DECISION) -> Sound:
        """Speak a whole text at `rate`; raise OSError when the voice fails."""
        clauses = self._cutter().whole(text)
        making = [
            self._begin(each, rate, priority, goes_on=number < len(clauses))
            for number, each in enumerate(clauses, 1)
        ]
        try:
            return join([await each.sound() for each in making], rate)
        finally:
            for each in making:
                each.drop()

    async def speak(self, texts: AsyncIterator[str], rate: int) -> AsyncGenerator[Clause, None]:
        """Speak tokens as they come, in order; raise OSError when the voice fails.

        Closing the iterator leaves nothing running: a clause in the making is thrown away.
        """
        cutter = self._cutter()
        waiting: deque[tuple[str, bool]] = deque()
        making: deque[tuple[str, _Making]] = deque()
        priority, unsaid = Priority.DECISION, ""
        mark: str | None = None
        token: str | None = ""
        try:
            while token is not None:
                token = await anext(texts, None)
                new = cutter.push(token) if token is not None else cutter.flush()
                last = len(new) if token is None else 0
                waiting.extend((each, number != last) for number, each in enumerate(new, 1))
                while waiting or making:
                    while waiting and len(making) < AHEAD:
                        text, goes_on = waiting.popleft()
                        making.append((text, self._begin(text, rate, priority, goes_on=goes_on)))
                        priority = Priority.REPLY
                    text, made = making.popleft()
                    sound = await made.sound()
                    if not sound.pcm:
                        unsaid += text
                        continue
                    yield _clause(sound, unsaid + text, mark, rate)
                    unsaid, mark = "", sound.mark
        finally:
            for _, made in making:
                made.drop()

    def _cutter(self) -> ClauseCutter:
        return ClauseCutter(self._settings, self.engine.language)

    def _begin(self, text: str, rate: int, priority: Priority, *, goes_on: bool) -> _Making:
        """Begin to make a clause, or find it made."""
        goes_on = goes_on and text.rstrip()[-1:].isalnum()  # else its mark says so
        key = (self.engine.name, rate, text.strip(), goes_on)
        known = self._cache.get(key)
        if known is not None:
            return _Making(known)

        def job() -> Sound:
            return again(lambda: self.engine.render(text, rate, goes_on=goes_on))

        try:
            future = self._runtime.workers.submit(job, priority=priority, model="voice")
        except RuntimeError as error:  # refused by the pool
            raise OSError(f"the voice failed: {error}") from error
        return _Making(future=future, keep=lambda sound: self._cache.put(key, sound))


class _Making:
    """A clause that is made already, or in a worker thread."""

    def __init__(
        self,
        made: Sound | None = None,
        future: Future[Sound] | None = None,
        keep: Callable[[Sound], None] | None = None,
    ) -> None:
        self._made = made
        self._future = future
        self._keep = keep

    async def sound(self) -> Sound:
        """Await it; raise OSError when the voice fails."""
        if self._made is None:
            assert self._future is not None
            try:
                self._made = await asyncio.wrap_future(self._future)
            except Exception as error:  # fence: refused by the pool, or broken in the model
                raise OSError(f"the voice failed: {in_words(error)}") from error
            if self._keep is not None:
                self._keep(self._made)
        return self._made

    def drop(self) -> None:
        """Let go of it: what did not begin yet never does."""
        if self._future is not None:
            self._future.cancel()


def _clause(sound: Sound, text: str, mark: str | None, rate: int) -> Clause:
    """Put the pause that the clause before it wants in front of a clause; None: there is none."""
    pause = b"" if mark is None else silence(PAUSES[mark], rate)
    seconds = len(pause) / 2 / rate
    return Clause(pause + sound.pcm, text, tuple(word.later(seconds) for word in sound.words))
