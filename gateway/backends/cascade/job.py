"""One reply of a cascade at work: what it is about, how far it is, and what its parts may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal

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

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        token = None if self._over else await self._tokens.get()
        if token is None:
            self._over = True
            raise StopAsyncIteration
        return token
