"""How a call says its fixed lines: at once where they are rendered, else as soon as they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from gateway.call.conversation.vocabulary import Event
from gateway.call.tasks import Tasks
from gateway.events import AgentAudio, PlayoutDry, Record, UtteranceEnded, Word
from gateway.log_events import FaultLogged

RENDER_SECONDS = 8.0
"""The embedded voice renders a sentence in half a second; on a busy machine in several."""


class FixedLine(Protocol):
    """A sentence as sound."""

    @property
    def pcm(self) -> bytes:
        """Signed 16-bit samples at the rate asked for."""

    @property
    def words(self) -> tuple[Word, ...]:
        """Its words, times from the first sample."""


class FixedLineBook(Protocol):
    """Where sentences are rendered ahead."""

    def ready(self, text: str, rate: int) -> FixedLine | None:
        """Return the sentence's sound, if it is there already."""

    async def render(self, text: str, rate: int) -> FixedLine:
        """Make the sentence's sound; raises OSError when the voice fails."""


class Saying:
    """Speaks sentences of the gateway's own, with the agent's voice."""

    def __init__(
        self,
        book: FixedLineBook,
        rate: int,
        tasks: Tasks,
        post: Callable[[Event], None],
        note: Callable[[Record], None],
    ) -> None:
        self._book = book
        self._rate = rate
        self._tasks = tasks
        self._post = post
        self._note = note

    def say(self, utterance: int, text: str) -> None:
        """Give a sentence's sound to the call, now or when it is there."""
        line = self._book.ready(text, self._rate)
        if line is not None:
            self._give(utterance, line)
        else:
            self._tasks.spawn(self._render(utterance, text), key=f"line{utterance}", kind="line")

    def _give(self, utterance: int, line: FixedLine) -> None:
        self._post(AgentAudio(0, utterance, line.pcm, line.words))
        self._post(UtteranceEnded(0, utterance))

    async def _render(self, utterance: int, text: str) -> None:
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                line = await self._book.render(text, self._rate)
        except OSError as broken:  # TimeoutError is one
            reason = str(broken) or "a line was not rendered in time"
            self._note(Record(FaultLogged(part="voice", reason=reason)))
            # The wait for a line that cannot be said must still end.
            self._post(PlayoutDry())
        else:
            self._give(utterance, line)
