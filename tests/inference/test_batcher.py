"""Requests of several callers meet in one run of the model, and nobody waits past their time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from gateway.plumbing.virtual_time import VirtualTimeLoop
from inference import Refused
from inference.batch import BatchSettings
from inference.batcher import Answer, Batcher, answers
from inference.errors import Broke
from inference.pool import Workers


class Squares:
    """A model that squares, and remembers what it was run on."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun = threading.Event()
        self.go = threading.Event()
        self.go.set()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.begun.set()
        assert self.go.wait(10)
        if 13 in items:
            raise ArithmeticError("13 is unlucky")
        return [item * item for item in items]


@contextmanager
def pool(model: Squares) -> Iterator[Workers]:
    """Lend one thread, whose real work takes no virtual time."""
    workers, loop = Workers(1), asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    try:
        with loop.waiting_for(lambda: workers.busy):
            yield workers
    finally:
        model.go.set()
        workers.close()


def now() -> float:
    return asyncio.get_running_loop().time()


async def ask_all(batcher: Batcher[int, int], items: Sequence[int]) -> list[Answer[int]]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(batcher.ask(item, now() + 1)) for item in items]
    return [task.result() for task in tasks]


async def test_requests_within_the_gathering_time_run_as_one_batch() -> None:
    model = Squares()
    with pool(model) as workers:
        answers = await ask_all(Batcher(model, workers, BatchSettings(8, 0.004)), [2, 3, 4])
    assert [answer.value for answer in answers] == [4, 9, 16]
    assert model.batches == [[2, 3, 4]]
    assert all(answer.queue_seconds >= 0.0 for answer in answers)
    assert all(answer.model_seconds >= 0.0 for answer in answers)


async def test_the_time_spent_gathering_is_in_the_answer() -> None:
    model = Squares()
    with pool(model) as workers:
        answer = await Batcher(model, workers, BatchSettings(8, 0.25)).ask(3, now() + 1)
    # The model's real time is taken off the loop's time, which stands still while it runs.
    assert answer.queue_seconds == pytest.approx(0.25, abs=1e-6)


async def test_larger_crowds_are_cut_into_batches() -> None:
    model = Squares()
    with pool(model) as workers:
        answers = await ask_all(Batcher(model, workers, BatchSettings(2)), [1, 2, 3, 4, 5])
    assert [answer.value for answer in answers] == [1, 4, 9, 16, 25]
    assert model.batches == [[1, 2], [3, 4], [5]]


async def test_an_answer_that_does_not_come_in_time_is_refused_and_its_work_dropped() -> None:
    model = Squares()
    with pool(model) as workers:
        batcher = Batcher(model, workers, BatchSettings(8, gather=2.0))
        with pytest.raises(Refused, match="did not come in time"):
            await batcher.ask(3, now() + 1)
    assert model.batches == []


async def test_a_cancelled_request_costs_nothing() -> None:
    model = Squares()
    with pool(model) as workers:
        batcher = Batcher(model, workers, BatchSettings(8, gather=0.004))
        async with asyncio.TaskGroup() as group:
            unwanted = group.create_task(batcher.ask(2, now() + 1))
            wanted = group.create_task(batcher.ask(3, now() + 1))
            await asyncio.sleep(0.001)
            unwanted.cancel()
        answers = [wanted.result()]
    assert answers[0].value == 9
    assert model.batches == [[3]]


async def test_a_model_that_fails_fails_its_batch_alone() -> None:
    model = Squares()
    with pool(model) as workers:
        batcher = Batcher(model, workers, BatchSettings(1))
        with pytest.raises(ArithmeticError):
            await batcher.ask(13, now() + 1)
        assert (await batcher.ask(4, now() + 1)).value == 16


@pytest.mark.real_time
async def test_a_request_whose_time_passed_in_front_of_busy_threads_is_not_run() -> None:
    model, workers, other = Squares(), Workers(1), Squares()
    other.go.clear()
    workers.submit(lambda: other([1]))
    assert other.begun.wait(10)
    batcher = Batcher(model, workers, BatchSettings(8))
    with pytest.raises(Refused, match="did not come in time"):
        await batcher.ask(3, now() + 0.01)
    other.go.set()
    workers.close()
    await asyncio.sleep(0)
    got = model.batches
    assert got == []


@pytest.mark.real_time
async def test_closed_threads_refuse() -> None:
    model, workers = Squares(), Workers(1)
    workers.close()
    with pytest.raises(Refused, match="closed"):
        await Batcher(model, workers).ask(3, now() + 1)


async def test_a_request_that_breaks_the_model_leaves_the_others_their_answers() -> None:
    model = Squares()
    with pool(model) as workers:
        batcher = Batcher(model, workers, BatchSettings(8, gather=0.004))

        async def ask(item: int) -> object:
            try:
                return (await batcher.ask(item, now() + 1)).value
            except ArithmeticError as broken:
                return type(broken)

        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(item)) for item in (3, 13, 4)]
        found = [each.result() for each in asked]
    assert found == [9, ArithmeticError, 16]
    assert model.batches == [[3, 13, 4], [3, 13, 4], [3], [13], [4]]


def test_a_run_that_fails_once_is_no_failure() -> None:
    runs: list[int] = []

    def model(items: Sequence[int]) -> list[int]:
        runs.append(len(items))
        if len(runs) == 1:
            raise MemoryError
        return list(items)

    assert answers(model, [1, 2]) == [1, 2]
    assert runs == [2, 2]


def test_a_model_that_answers_too_little_has_failed() -> None:
    assert all(isinstance(each, Broke) for each in answers(lambda items: [], [1, 2]))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, StopIteration])
async def test_whatever_a_model_raises_is_an_error_to_whoever_asked(
    kind: type[BaseException],
) -> None:
    def breaks(items: Sequence[int]) -> list[int]:
        raise kind

    model = Squares()
    with pool(model) as workers:
        with pytest.raises(Broke):
            await Batcher(breaks, workers, BatchSettings(1)).ask(3, now() + 1)
        with pytest.raises(Broke):
            await workers.run(lambda: breaks([]))
