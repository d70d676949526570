"""The words of the caller's present turn, found at its pauses and so mostly ready at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass

from gateway.backends.cascade.ports import RecogniserStream, Transcript
from gateway.plumbing.fence import is_stop
from inference.errors import as_error

PART_SECONDS = 8.0
"""A part of a turn longer than this is not heard again with what follows: recognisers gain nothing
from words that far back, and each pause would cost the whole turn."""

SAME_START = 0.5
"""Seconds by which two views of where a turn began may differ; soft onsets are found late."""

SAME_END = 1.5
"""What was heard up to this long after a turn's last voiced sample holds silence more, no words:
a pause is asked about once, within its first half second, and a longer one ends the turn."""


@dataclass(slots=True)
class _Part:
    """One stretch at the recogniser, or back from there."""

    start: int
    end: int
    task: asyncio.Task[Transcript | Exception]


class TurnWords:
    """Hears one turn at a time, part by part; each part ends at a pause."""

    def __init__(self, stream: RecogniserStream, group: asyncio.TaskGroup, rate: int) -> None:
        self._stream = stream
        self._group = group
        self._rate = rate
        self._start = 0
        self._settled = 0
        "up to here the words of the turn are final"
        self._before: list[str] = []
        self._part: _Part | None = None

    def begin(self, start: int) -> None:
        """Start a turn; what was found of the one before is forgotten."""
        self._start = self._settled = start
        self._before.clear()
        self._part = None

    async def upto(self, end: int) -> Transcript:
        """Return the words from the turn's start to `end`; raises OSError when there are none."""
        start, since, before = self._start, self._settled, list(self._before)
        found = await self._hear(since, end)
        long = (end - since) / self._rate >= PART_SECONDS
        if long and (self._start, self._settled) == (start, since):
            self._settled = end
            self._before.append(found.text)
        text = " ".join(part for part in (*before, found.text) if part)
        return Transcript(text, found.final)

    async def between(self, start: int, end: int) -> Transcript:
        """Return the words of a turn that is over, ready if its last pause was asked about."""
        if abs(start - self._start) > SAME_START * self._rate:
            self.begin(start)
        if end <= self._settled:
            return Transcript(" ".join(self._before))
        return await self.upto(end)

    async def _hear(self, start: int, end: int) -> Transcript:
        part = self._part
        if part is None or part.start != start or not self._covers(part, end):
            words = _attempt(self._stream.transcribe(start, end, final=True))
            part = self._part = _Part(start, end, self._group.create_task(words))
        found = await asyncio.shield(part.task)
        if isinstance(found, Transcript):
            return found
        if self._part is part:
            self._part = None
        raise found

    def _covers(self, part: _Part, end: int) -> bool:
        return 0 <= part.end - end <= SAME_END * self._rate


async def _attempt(words: Coroutine[None, None, Transcript]) -> Transcript | Exception:
    """Return the words, or why there are none: a failure must not end the group it runs in."""
    try:
        return await words
    except BaseException as raised:  # fence: handed to whoever waits for the words
        if is_stop(raised):
            raise
        return as_error(raised)
