"""Knows the threads that models run in, and whose turn it is.

Models release the interpreter's lock while they run, so threads are enough; each model call keeps
to one thread of its own.
The threads are niced, so that on a busy core the loop that paces the audio is scheduled first.
A job that was cancelled, or whose time has passed, is dropped before it costs anything.
"""

from __future__ import annotations

import asyncio
import heapq
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import TypeVar

from inference.errors import Refused, as_error
from inference.scheduling import MODEL_SLICE, ask_for_slices, yield_to_others

T = TypeVar("T")


@dataclass(slots=True)
class Work:
    """What one model had of the threads, in all."""

    jobs: int = 0
    waited: float = 0.0
    "seconds from asking to the job's beginning"
    ran: float = 0.0
    "seconds"


class Priority(IntEnum):
    """Whose job runs first when several wait; within one level, first come, first served."""

    DECISION = 0
    "the caller waits for it: is the turn over, what was said, the first sound of a reply"
    REPLY = 1
    "the rest of an answer, while its beginning plays"
    DRAFT = 2
    "may be thrown away"


def again(job: Callable[[], T]) -> T:
    """Run a job of a model, and once more if it breaks; raise what it raises then."""
    try:
        return job()
    except BaseException:  # fence: a run may fail for a moment; what fails twice is broken
        return job()


class Workers:
    """Runs jobs in a fixed number of threads, the most urgent first; a full queue refuses."""

    def __init__(self, threads: int, *, niceness: int = 0, depth: int = 256) -> None:
        """Take how many threads there are, how much they yield, and how many jobs may wait."""
        if threads < 1:
            raise ValueError(f"at least one worker thread is needed, not {threads}")
        self._count = threads
        self._niceness = niceness
        self._depth = depth
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._wake = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._running = 0
        self._closed = False
        self.work: dict[str, Work] = {}
        "by what asked for it; to look at"

    @property
    def busy(self) -> bool:
        """Return whether a job waits or runs; its result is on its way before this is false."""
        with self._wake:
            return bool(self._heap) or self._running > 0

    def submit(
        self,
        job: Callable[[], T],
        *,
        priority: int = Priority.DECISION,
        due: float | None = None,
        model: str = "other",
    ) -> Future[T]:
        """Queue a job; its future fails with Refused if it has not begun at `due` (monotonic).

        `model` says what the time is counted to. Raise Refused at once when the queue is full or
        closed.
        """
        future: Future[T] = Future()
        asked = time.monotonic()

        def perform() -> None:
            if not future.set_running_or_notify_cancel():
                return
            if self._closed:
                future.set_exception(Refused("the model threads are closed"))
                return
            if due is not None and time.monotonic() >= due:
                future.set_exception(Refused("the time for this had passed before it began"))
                return
            begun = time.monotonic()
            try:
                result = job()
            except BaseException as raised:  # fence: a job's failure belongs to who waits for it
                self._count_in(model, begun - asked, time.monotonic() - begun)
                future.set_exception(as_error(raised))
            else:
                self._count_in(model, begun - asked, time.monotonic() - begun)
                future.set_result(result)

        with self._wake:
            if self._closed:
                raise Refused("the model threads are closed")
            if len(self._heap) >= self._depth:
                raise Refused(f"{self._depth} jobs wait for the model threads already")
            heapq.heappush(self._heap, (priority, next(self._order), perform))
            if not self._threads:
                self._start()
            self._wake.notify()
        return future

    async def run(
        self,
        job: Callable[[], T],
        *,
        priority: int = Priority.DECISION,
        due: float | None = None,
        model: str = "other",
    ) -> T:
        """Await a job; cancelling the wait drops the job unless it runs already."""
        return await asyncio.wrap_future(self.submit(job, priority=priority, due=due, model=model))

    def _count_in(self, model: str, waited: float, ran: float) -> None:
        with self._wake:
            work = self.work.setdefault(model, Work())
            work.jobs += 1
            work.waited += waited
            work.ran += ran

    def close(self) -> None:
        """Let running jobs end, refuse the waiting ones and end the threads."""
        with self._wake:
            self._closed = True
            waiting, self._heap = self._heap, []
            self._wake.notify_all()
        for _, _, perform in waiting:
            perform()
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        for number in range(self._count):
            thread = threading.Thread(target=self._work, name=f"model-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        yield_to_others(self._niceness)
        ask_for_slices(MODEL_SLICE)
        while True:
            with self._wake:
                while not self._heap:
                    if self._closed:
                        return
                    self._wake.wait()
                _, _, perform = heapq.heappop(self._heap)
                self._running += 1
            perform()
            del perform  # or it would keep the last job's arrays alive until the next
            with self._wake:
                self._running -= 1
