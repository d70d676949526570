"""One reply of a cascade at work: what it is about, how far it is, and what its parts may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal

from gateway.backends.cascade.ports import SpeechChunk
from gateway.events import AnswerTool, Entry

Part = Literal["recogniser", "model", "voice"]


@dataclass(frozen=True, slots=True)
class CascadeSettings:
    """Limits of the parts; seconds."""

    transcript_seconds: float = 3.0
    "a recogniser that needs longer has failed: it works on a turn's tail, already heard"
    first_token_seconds: float = 8.0
    token_seconds: float = 5.0
    "the longest gap between two tokens"
    voice_seconds: float = 5.0
    "the longest silence of a voice that has words; hosted ones fail by their own bounds before"
    draft_voice: bool = False
    "synthesise drafts too; their sound still waits for the confirmation"


class PartFailed(Exception):
    """A part of the cascade failed or hung."""

    def __init__(self, part: Part, reason: str) -> None:
        super().__init__(f"{part}: {reason}")
        self.part: Part = part
        self.reason = reason


@dataclass(slots=True)
class Job:
    """One reply at work."""

    reply: int
    turn: int
    start: int
    end: int
    history: tuple[Entry, ...]
    text: str = ""
    again: bool = False
    utterance: int = 0
    "0 until the turn is confirmed"
    confirmed: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Queue[AnswerTool] = field(default_factory=lambda: asyncio.Queue(64))
    task: asyncio.Task[None] | None = None


class Drain:
    """Reads the tokens; whoever is cancelled while reading can be followed by another reader."""

    def __init__(self, tokens: asyncio.Queue[str | None]) -> None:
        self._tokens = tokens
        self._over = False
        self._waits = False
        self._limit: asyncio.Timeout | None = None
        self._seconds = 0.0

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        token = None if self._over else await self._next()
        if token is None:
            self._over = True
            raise StopAsyncIteration
        return token

    async def sound(self, voice: AsyncIterator[SpeechChunk], seconds: float) -> SpeechChunk | None:
        """Wait for what a voice makes of the tokens; raises TimeoutError.

        It may be silent for `seconds`, not counting the time it waits for a token itself.
        """
        async with asyncio.timeout(None) as self._limit:
            self._seconds = seconds
            self._count()
            try:
                return await anext(voice, None)
            finally:
                self._limit = None

    async def _next(self) -> str | None:
        self._waits = True
        self._count()
        try:
            return await self._tokens.get()
        finally:
            self._waits = False
            self._count()

    def _count(self) -> None:
        """Begin to count the voice's silence, or stop while the model is waited for."""
        if self._limit is not None and not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(None if self._waits else now + self._seconds)
