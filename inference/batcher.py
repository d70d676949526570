"""Runs a batch queue: asks from the loop, runs the model in a worker, hands each its answer.

The loop only queues and hands out; there is one hop to a worker for a batch, not for a request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from inference.batch import BatchQueue, BatchSettings, Ticket
from inference.errors import Broke, Refused, as_error
from inference.pool import Priority, Workers

TRIES = 2
"""A run may fail for a moment (a GPU's memory that others hold); what fails twice is broken."""

Item = TypeVar("Item")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class Answer(Generic[Out]):
    """What a model said to one request, and what that took."""

    value: Out
    queue_seconds: float
    "from the request to the start of its batch"
    model_seconds: float
    "that the whole batch took"


class Batcher(Generic[Item, Out]):
    """Answers single requests by running the model on many; belongs to one event loop."""

    def __init__(
        self,
        model: Callable[[Sequence[Item]], Sequence[Out]],
        workers: Workers,
        settings: BatchSettings | None = None,
        *,
        priority: int = Priority.DECISION,
        name: str = "other",
    ) -> None:
        """Take the model: a function, called in a worker thread, that answers item by item."""
        self._name = name
        self._model = model
        self._workers = workers
        self._priority = priority
        self._queue: BatchQueue[_Request[Item, Out]] = BatchQueue(settings or BatchSettings())
        self._timer: asyncio.TimerHandle | None = None

    async def ask(self, item: Item, due: float) -> Answer[Out]:
        """Return the model's answer; raise Refused when it cannot be had by `due` (loop seconds).

        What the model raises of this request alone is raised here.
        """
        loop = asyncio.get_running_loop()
        request: _Request[Item, Out] = _Request(item, loop.create_future())
        ticket = self._queue.push(request, due, loop.time())
        self._arm(loop)
        try:
            async with asyncio.timeout_at(due):
                return await request.answer
        except TimeoutError:
            raise Refused("the answer did not come in time") from None
        finally:
            self._queue.drop(ticket)

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the timer to when the queue next wants something."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._queue.deadline
        if deadline is not None:
            self._timer = loop.call_at(deadline, self._send, loop)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give a batch to the workers."""
        self._timer = None
        taken = self._queue.take(loop.time())
        for late in taken.late:
            late.item.refuse("the model could not have answered in time")
        if taken.batch:
            self._start(taken.batch, loop)
        self._arm(loop)

    def _start(
        self, batch: list[Ticket[_Request[Item, Out]]], loop: asyncio.AbstractEventLoop
    ) -> None:
        items = [ticket.item.item for ticket in batch]
        left = loop.time()

        def run() -> None:
            # Between threads only durations are compared: the loop's clock may be another one.
            begun = time.monotonic()
            outcome: Sequence[Out | Exception] = []
            if not all(ticket.item.answer.done() for ticket in batch):  # else nobody waits
                outcome = answers(self._model, items)
            seconds = time.monotonic() - begun
            loop.call_soon_threadsafe(self._deliver, batch, outcome, left, seconds, loop)

        try:
            self._workers.submit(run, priority=self._priority, model=self._name)
        except Refused as refused:
            self._deliver(batch, [refused] * len(batch), left, 0.0, loop)

    def _deliver(
        self,
        batch: list[Ticket[_Request[Item, Out]]],
        outcome: Sequence[Out | Exception],
        left: float,
        seconds: float,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Hand each request of a batch its answer."""
        self._queue.finished(seconds)
        # The wait for a worker thread is queueing too.
        queued = max(loop.time() - left - seconds, 0.0)
        for place, ticket in enumerate(batch):
            future = ticket.item.answer
            if future.done():
                continue
            said = outcome[place]
            if isinstance(said, Exception):
                future.set_exception(said)
            else:
                waited = left - ticket.arrived + queued
                future.set_result(Answer(said, waited, seconds))
        self._arm(loop)


def answers(
    model: Callable[[Sequence[Item]], Sequence[Out]], items: Sequence[Item], tries: int = TRIES
) -> Sequence[Out | Exception]:
    """Ask about all items at once, once more if that fails, then about each alone.

    Give the answers in order, with the error in place of what cannot be answered: one request that
    breaks the model is no reason for the others to go without.
    """
    for _ in range(tries):
        try:
            said = model(items)
        except BaseException as raised:  # fence: told to whoever asked
            failed: Exception = as_error(raised)
        else:
            if len(said) == len(items):
                return said
            failed = Broke(f"{len(said)} answers were given to {len(items)} questions")
    if len(items) == 1:
        return [failed]
    return [each for item in items for each in answers(model, [item], 1)]


class _Request(Generic[Item, Out]):
    """An item and who waits for its answer."""

    __slots__ = ("answer", "item")

    def __init__(self, item: Item, answer: asyncio.Future[Answer[Out]]) -> None:
        self.item = item
        self.answer = answer

    def refuse(self, why: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(Refused(why))
