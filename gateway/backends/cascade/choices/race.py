"""First and second choices for the parts of a cascade: when another one is asked, and who wins.

A second choice is asked when the first fails, or has given nothing for so long. With hedging that
is the 95th percentile of what it usually takes; whoever answers first is used, the other stopped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Generic, TypeVar

import structlog
from msgspec import Meta

from gateway.plumbing.fence import is_stop
from inference.errors import as_error, in_words

log = structlog.get_logger("cascade")

T = TypeVar("T")
Table = Mapping[str, Any]

ENOUGH = 20
"""Answers from which a 95th percentile can be told at all."""

REMEMBERED = 200
"""Answers it is taken from: the last hour of a few calls, so that it follows the server's day."""

LEAST = 0.15
"""Seconds a hedge waits at least: below, two requests run for every hiccup of a fast server."""


@dataclass(frozen=True, slots=True)
class ChoiceSettings:
    """When the second choice of a part is asked."""

    first_seconds: Annotated[float, Meta(gt=0)] | None = None
    """a first choice that has given nothing for so long is overtaken by the second; empty: 2.5
    for a model, 1.0 for a recogniser, 1.5 for a voice"""
    hedge: bool = False
    "overtake it at the 95th percentile of its own times already"
    rest_seconds: Annotated[float, Meta(ge=0)] = 20.0
    "after a failure the second choice is asked first for so long"


CHOICE = frozenset(each.name for each in fields(ChoiceSettings))


def split(table: Table) -> tuple[Table, Table, Table | None]:
    """Part a table into a kind's own settings, when the second choice is asked, and that choice."""
    own = {key: value for key, value in table.items() if key not in CHOICE and key != "fallback"}
    choice = {key: value for key, value in table.items() if key in CHOICE}
    return own, choice, table.get("fallback")


def chain(table: Table, path: str) -> Iterator[tuple[Table, str]]:
    """List the own settings of a part and of its second choices, each with its path."""
    following: Table | None = table
    while following is not None:
        own, _, following = split(following)
        yield own, path
        path += ".fallback"


class Patience:
    """How long a choice is waited for, and whether it is asked first; learns from each answer."""

    def __init__(self, settings: ChoiceSettings, usual: float) -> None:
        self._settings = settings
        self._longest = settings.first_seconds or usual
        self._taken: deque[float] = deque(maxlen=REMEMBERED)
        self._resting = 0.0

    @property
    def seconds(self) -> float:
        """Seconds without an answer after which the next one is asked."""
        if not self._settings.hedge or len(self._taken) < ENOUGH:
            return self._longest
        percentile = sorted(self._taken)[int(0.95 * len(self._taken))]
        return min(self._longest, max(LEAST, percentile))

    def rests(self, now: float) -> bool:
        """Return whether it failed a moment ago."""
        return now < self._resting

    def answered(self, seconds: float) -> None:
        """It gave its first answer after so long."""
        self._taken.append(seconds)
        self._resting = 0.0

    def overtaken(self, seconds: float) -> None:
        """It had given nothing when another one answered: it takes at least so long."""
        self._taken.append(seconds)

    def failed(self, now: float) -> None:
        """It failed."""
        self._resting = now + self._settings.rest_seconds


@dataclass(slots=True)
class Won(Generic[T]):
    """Who answered first, and with what."""

    place: int
    first: T | None
    "None: the answer is empty"
    stream: AsyncGenerator[T, None]


class Race(Generic[T]):
    """Streams of which the first to give something is used; the others are stopped and closed.

    Must be closed: `aclose` closes whatever was opened.
    """

    def __init__(
        self, makers: Sequence[Callable[[], AsyncGenerator[T, None]]], patiences: Sequence[Patience]
    ) -> None:
        self._makers = makers
        self._patiences = patiences
        self._open: dict[int, AsyncGenerator[T, None]] = {}
        self._tasks: dict[asyncio.Task[T | OSError | None], int] = {}
        self._begun: dict[int, float] = {}
        self._failure: OSError | None = None

    async def run(self) -> Won[T]:
        """Ask one after the other until one answers; raise the last failure when none does."""
        now = asyncio.get_running_loop().time
        order = sorted(range(len(self._makers)), key=lambda n: self._patiences[n].rests(now()))
        async with asyncio.TaskGroup() as group:
            while True:
                if order and not self._waiting(now()):
                    self._ask(group, order.pop(0), now())
                won = await self._next(now, bool(order))
                if won is not None:
                    for task in self._tasks:
                        task.cancel()
                    break
                if not self._tasks and not order:
                    break
        if won is None:
            raise self._failure or OSError("nobody answered")
        await self._close_but(won.place)
        return won

    async def aclose(self) -> None:
        """Close what is open."""
        await self._close_but(None)

    def _waiting(self, now: float) -> bool:
        """Return whether the one asked last is still given time."""
        running = list(self._tasks.values())
        if not running:
            return False
        return now < self._begun[running[-1]] + self._patiences[running[-1]].seconds - 1e-6

    def _ask(self, group: asyncio.TaskGroup, place: int, now: float) -> None:
        stream = self._open[place] = self._makers[place]()
        self._begun[place] = now
        self._tasks[group.create_task(self._head(stream))] = place

    async def _head(self, stream: AsyncGenerator[T, None]) -> T | OSError | None:
        """Return the first piece, or why there is none: a failure must not end the group."""
        try:
            return await anext(stream, None)
        except OSError as broken:
            return broken
        except BaseException as raised:  # fence: whatever a part raises, another one may do better
            if is_stop(raised):
                raise
            return OSError(in_words(as_error(raised)))

    async def _next(self, now: Callable[[], float], more: bool) -> Won[T] | None:
        """Wait for an answer, or until another one should be asked."""
        last = list(self._tasks.values())[-1]
        due = self._begun[last] + self._patiences[last].seconds - now() if more else None
        done, _ = await asyncio.wait(self._tasks, timeout=due, return_when=asyncio.FIRST_COMPLETED)
        for task in sorted(done, key=lambda each: self._tasks[each]):
            place = self._tasks.pop(task)
            found = task.result()
            if isinstance(found, OSError):
                self._failure = found
                self._patiences[place].failed(now())
                continue
            self._patiences[place].answered(now() - self._begun[place])
            for slower in self._tasks.values():
                self._patiences[slower].overtaken(now() - self._begun[slower])
            return Won(place, found, self._open[place])
        return None

    async def _close_but(self, kept: int | None) -> None:
        for place in [place for place in self._open if place != kept]:
            await close(self._open.pop(place))


async def close(stream: AsyncGenerator[object, None]) -> None:
    """Close a stream; what breaks in it then is nobody's any more."""
    try:
        await stream.aclose()
    except BaseException as raised:  # fence: it would hide why the stream is closed
        if is_stop(raised):
            raise
        log.info("close_failed", error=in_words(as_error(raised)))
