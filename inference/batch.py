"""Knows which requests to one model go together, which first, and which are not worth running.

Requests of all calls are collected for a moment, ordered by when they are due, and run as one.
While as many batches run as may, requests wait, so that batches grow with the load by themselves.
The queue is told the time and does nothing on its own; `inference.batcher` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from inference.errors import Refused

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """How requests are put together."""

    largest: int = 1
    "requests in one batch; 1 where the hardware gains nothing from more"
    gather: float = 0.0
    "seconds to wait for others before the first request leaves"
    running: int = 1
    "batches that may run at once"
    depth: int = 256
    "requests that may wait; one more is refused at once"


@dataclass(slots=True, eq=False)
class Ticket(Generic[T]):
    """One request in the queue."""

    item: T
    due: float
    "an answer after this is of no use"
    arrived: float


@dataclass(frozen=True, slots=True)
class Taken(Generic[T]):
    """What left the queue."""

    batch: list[Ticket[T]] = field(default_factory=list)
    "to be run now"
    late: list[Ticket[T]] = field(default_factory=list)
    "to be refused: their answer would come after they are due"


class BatchQueue(Generic[T]):
    """Decides when a batch leaves and what is in it; never runs anything."""

    def __init__(self, settings: BatchSettings) -> None:
        """Start empty."""
        self._settings = settings
        self._waiting: list[Ticket[T]] = []
        self._running = 0
        self._seconds = 0.0
        "what a batch has taken lately, to tell what cannot be in time"

    def __len__(self) -> int:
        """Count the requests that wait."""
        return len(self._waiting)

    @property
    def deadline(self) -> float | None:
        """Return when to take the next batch; None: nothing waits, or nothing more may run."""
        if not self._waiting or self._running >= self._settings.running:
            return None
        first = min(each.arrived for each in self._waiting)
        if len(self._waiting) >= self._settings.largest:
            return first
        return first + self._settings.gather

    def push(self, item: T, due: float, now: float) -> Ticket[T]:
        """Queue a request; raise Refused when the queue is full or the request already late."""
        if due <= now:
            raise Refused("the request was late when it was made")
        if len(self._waiting) >= self._settings.depth:
            raise Refused(f"{self._settings.depth} requests wait already")
        ticket = Ticket(item, due, now)
        self._waiting.append(ticket)
        return ticket

    def drop(self, ticket: Ticket[T]) -> None:
        """Forget a request that nobody waits for; if it runs already, its answer is void."""
        if ticket in self._waiting:
            self._waiting.remove(ticket)

    def take(self, now: float) -> Taken[T]:
        """Take the most urgent requests that can still be in time.

        The caller runs the batch, unless it is empty, and then calls `finished`.
        """
        taken: Taken[T] = Taken()
        self._waiting.sort(key=lambda each: each.due)
        while self._waiting and len(taken.batch) < self._settings.largest:
            ticket = self._waiting.pop(0)
            if now + self._seconds < ticket.due:
                taken.batch.append(ticket)
            else:
                taken.late.append(ticket)
                # What was slow once is not held against later requests for ever.
                self._seconds *= 0.9
        if taken.batch:
            self._running += 1
        return taken

    def finished(self, seconds: float) -> None:
        """Hear that a batch has ended and how long the model took."""
        self._running -= 1
        # Half old, half new: follows the load within a few batches, and no single slow run rules.
        self._seconds = seconds if self._seconds == 0.0 else (self._seconds + seconds) / 2
