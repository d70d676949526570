"""Workers run the most urgent job first, drop what nobody waits for, and stand back."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from inference.errors import Refused
from inference.pool import Priority, Workers
from inference.scheduling import LOOP_SLICE, MODEL_SLICE, ask_for_slices, yield_to_others


class Gate:
    """A job that holds its worker until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.go.wait(10)


def held(workers: Workers) -> Gate:
    gate = Gate()
    workers.submit(gate)
    assert gate.begun.wait(10)
    return gate


def test_the_most_urgent_runs_first_and_equals_in_order() -> None:
    workers, ran = Workers(1), list[str]()
    gate = held(workers)
    waiting = [
        workers.submit(lambda name=name: ran.append(name), priority=priority)  # type: ignore[misc]
        for name, priority in [
            ("draft", Priority.DRAFT),
            ("first", Priority.DECISION),
            ("reply", Priority.REPLY),
            ("second", Priority.DECISION),
        ]
    ]
    gate.go.set()
    for each in waiting:
        each.result(10)
    workers.close()
    assert ran == ["first", "second", "reply", "draft"]


def test_a_full_queue_refuses_at_once() -> None:
    workers = Workers(1, depth=1)
    gate = held(workers)
    kept = workers.submit(lambda: 7)
    with pytest.raises(Refused, match="1 jobs wait"):
        workers.submit(lambda: 8)
    gate.go.set()
    assert kept.result(10) == 7
    workers.close()


def test_late_and_cancelled_jobs_never_run() -> None:
    workers, ran = Workers(1), list[str]()
    gate = held(workers)
    late = workers.submit(lambda: ran.append("late"), due=time.monotonic())
    cancelled = workers.submit(lambda: ran.append("cancelled"))
    assert cancelled.cancel()
    gate.go.set()
    with pytest.raises(Refused, match="time for this had passed"):
        late.result(10)
    workers.submit(lambda: None).result(10)
    workers.close()
    assert ran == []


def test_closing_refuses_what_waits_and_what_comes() -> None:
    workers = Workers(1)
    gate = held(workers)
    waiting = workers.submit(lambda: 7)
    closing = threading.Thread(target=workers.close)
    closing.start()
    with pytest.raises(Refused, match="closed"):
        waiting.result(10)
    gate.go.set()
    closing.join(10)
    assert not workers.busy
    with pytest.raises(Refused, match="closed"):
        workers.submit(lambda: 8)


@pytest.mark.real_time
async def test_a_failure_belongs_to_who_waits_and_the_thread_lives_on() -> None:
    workers = Workers(1)

    with pytest.raises(ZeroDivisionError):
        await workers.run(lambda: 1 // 0)
    got = await workers.run(lambda: 7)
    assert got == 7
    workers.close()


def test_busy_while_a_job_waits_or_runs() -> None:
    workers = Workers(1)
    assert not workers.busy
    gate = held(workers)
    assert workers.busy
    gate.go.set()
    workers.close()
    assert not workers.busy


@pytest.mark.skipif(sys.platform != "linux", reason="niceness is a thread's own on Linux alone")
def test_workers_stand_back_and_the_process_does_not() -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    own = niceness()
    workers = Workers(1, niceness=3)
    assert workers.submit(niceness).result(10) == min(own + 3, 19)
    workers.close()
    assert niceness() == own
    yield_to_others(0)
    assert niceness() == own


def test_a_pool_without_threads_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one worker"):
        Workers(0)


def slice_of(thread: int) -> int:
    """Read a thread's slice in nanoseconds, where the kernel tells; 0 where it does not."""
    path = Path(f"/proc/self/task/{thread}/sched")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((int(line.split(":")[1]) for line in lines if line.startswith("se.slice")), 0)


def test_the_loop_asks_for_short_slices_and_its_threads_do_not_inherit_them() -> None:
    own = threading.get_native_id()
    if not slice_of(own):
        pytest.skip("the kernel does not tell of slices (Linux 6.12 and newer do)")
    found: list[int] = []

    def work() -> None:
        assert ask_for_slices(200_000)
        found.append(slice_of(threading.get_native_id()))
        other = threading.Thread(target=lambda: found.append(slice_of(threading.get_native_id())))
        other.start()
        other.join()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [200_000, slice_of(own)]


def test_model_threads_ask_for_slices_that_are_longer_than_the_loops() -> None:
    if not slice_of(threading.get_native_id()):
        pytest.skip("the kernel does not tell of slices (Linux 6.12 and newer do)")
    workers = Workers(1)
    try:
        found = workers.submit(lambda: slice_of(threading.get_native_id())).result(10)
    finally:
        workers.close()
    assert found == MODEL_SLICE > LOOP_SLICE
