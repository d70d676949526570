"""The queue keeps its bound, its order and its word about what is late."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference import Refused
from inference.batch import BatchQueue, BatchSettings, Ticket


def queue(**settings: float) -> BatchQueue[str]:
    return BatchQueue(BatchSettings(**settings))  # type: ignore[arg-type]


def items(taken: Sequence[Ticket[str]]) -> list[str]:
    return [ticket.item for ticket in taken]


def test_a_batch_leaves_when_its_time_is_up_or_it_is_full() -> None:
    waiting = queue(largest=3, gather=0.004)
    assert waiting.deadline is None
    waiting.push("a", 9.0, 1.0)
    waiting.push("b", 9.0, 1.003)
    assert waiting.deadline == pytest.approx(1.004)
    waiting.push("c", 9.0, 1.0035)
    assert waiting.deadline == 1.0


def test_what_is_due_first_goes_first() -> None:
    waiting = queue(largest=2)
    for name, due in [("late", 5.0), ("soon", 2.0), ("next", 3.0)]:
        waiting.push(name, due, 1.0)
    assert items(waiting.take(1.0).batch) == ["soon", "next"]
    assert len(waiting) == 1


def test_while_enough_runs_the_rest_waits_and_grows_into_one_batch() -> None:
    waiting = queue(largest=8, running=1)
    waiting.push("a", 9.0, 1.0)
    waiting.take(1.0)
    waiting.push("b", 9.0, 1.01)
    waiting.push("c", 9.0, 1.02)
    assert waiting.deadline is None
    waiting.finished(0.08)
    assert waiting.deadline == 1.01
    assert items(waiting.take(1.08).batch) == ["b", "c"]


def test_what_could_not_be_answered_in_time_is_refused_before_it_costs() -> None:
    waiting = queue()
    waiting.push("first", 9.0, 1.0)
    waiting.take(1.0)
    waiting.finished(0.08)
    waiting.push("hopeless", 2.05, 2.0)
    waiting.push("possible", 2.09, 2.0)
    taken = waiting.take(2.0)
    assert items(taken.late) == ["hopeless"]
    assert items(taken.batch) == ["possible"]


def test_one_slow_run_does_not_refuse_for_ever() -> None:
    waiting = queue()
    waiting.push("cold", 9.0, 1.0)
    waiting.take(1.0)
    waiting.finished(2.0)
    for _ in range(40):
        waiting.push("a", 3.1, 3.0)
        if waiting.take(3.0).batch:
            return
    pytest.fail("the queue never tried again")


def test_full_and_late_requests_are_refused_when_they_are_made() -> None:
    waiting = queue(depth=1)
    with pytest.raises(Refused, match="late when it was made"):
        waiting.push("a", 1.0, 1.0)
    waiting.push("b", 2.0, 1.0)
    with pytest.raises(Refused, match="1 requests wait"):
        waiting.push("c", 2.0, 1.0)


def test_a_dropped_request_is_never_taken() -> None:
    waiting = queue(largest=2)
    ticket = waiting.push("a", 9.0, 1.0)
    waiting.push("b", 9.0, 1.0)
    waiting.drop(ticket)
    assert items(waiting.take(1.0).batch) == ["b"]
    waiting.drop(ticket)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.floats(0.01, 1.0)),
        st.tuples(st.just("take"), st.just(0.0)),
        st.tuples(st.just("finish"), st.floats(0.0, 0.2)),
        st.tuples(st.just("wait"), st.floats(0.0, 0.1)),
    ),
    max_size=60,
)


@given(steps, st.integers(1, 4), st.integers(1, 3), st.integers(1, 6))
def test_every_request_comes_out_exactly_once_and_the_bounds_hold(
    steps: list[tuple[str, float]], largest: int, running: int, depth: int
) -> None:
    waiting: BatchQueue[int] = BatchQueue(BatchSettings(largest, 0.004, running, depth))
    now, pushed, out, runs = 1.0, 0, list[int](), 0
    for step, figure in steps:
        match step:
            case "push":
                try:
                    waiting.push(pushed, now + figure, now)
                    pushed += 1
                except Refused:
                    assert len(waiting) == depth
            case "take" if waiting.deadline is not None and waiting.deadline <= now:
                taken = waiting.take(now)
                assert len(taken.batch) <= largest
                assert all(each.due > now for each in taken.batch)
                runs += bool(taken.batch)
                out += [each.item for each in taken.batch + taken.late]
            case "finish" if runs:
                runs -= 1
                waiting.finished(figure)
            case _:
                now += figure
        assert runs <= running
        assert len(waiting) <= depth
    assert sorted(out) == sorted(set(out))
    assert len(out) + len(waiting) == pushed
