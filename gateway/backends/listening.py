"""A recogniser beside a speech-to-speech model, so that turn-taking has words to go by.

Whether a sound is an acknowledgement or a claim, and whether a sentence is complete, is judged
by words too; a model writes the caller's words down only after the turn, if it does at all.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from gateway.backends.cascade.ports import Recogniser, RecogniserStream
from gateway.backends.cascade.recognisers.turn_words import TurnWords
from gateway.events import BackendCommand, Listen
from gateway.ports import Backend, BackendEvent, BackendStart
from media.frame import AudioFrame

EARLY_FRAMES = 100
"""Sound kept until the recogniser is open: it is so on the loop's next round."""


class Listening:
    """Passes everything on to the model, and asks the recogniser for words in between."""

    def __init__(self, model: Backend, recogniser: Recogniser) -> None:
        self.traits = model.traits
        self._model = model
        self._recogniser = recogniser
        self._stream: RecogniserStream | None = None
        self._turn: TurnWords | None = None
        self._early: deque[AudioFrame] = deque(maxlen=EARLY_FRAMES)

    async def run(self, start: BackendStart, emit: Callable[[BackendEvent], None]) -> None:
        """Serve one call until cancelled or the model is lost."""
        stream = self._recogniser.open(start.info.rate, start.hints)
        while self._early:
            stream.feed(self._early.popleft())
        try:
            async with asyncio.TaskGroup() as group:
                self._stream, self._turn = stream, TurnWords(stream, group, start.info.rate)
                kept = group.create_task(stream.serve())
                await self._model.run(start, emit)
                kept.cancel()
        finally:
            self._stream = self._turn = None
            await stream.close()

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's sound."""
        if self._stream is not None:
            self._stream.feed(frame)
        else:
            self._early.append(frame)
        self._model.hear(frame)

    def perform(self, command: BackendCommand) -> None:
        """Begin what is asked."""
        if isinstance(command, Listen) and self._turn is not None:
            self._turn.begin(command.start)
        self._model.perform(command)

    async def words(self, start: int, end: int) -> str | None:
        """Return the words of a stretch of the caller's sound, for turn-taking."""
        if self._turn is None:
            return None
        return (await self._turn.upto(end)).text

    def done(self, at: int) -> float | None:
        """Return the model's own judgement of a pause, if it has one."""
        return self._model.done(at)
