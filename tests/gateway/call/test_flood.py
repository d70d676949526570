"""Floods of keys and texts: people are taken, machines are dropped, and it is told once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.call.flood import KEYS, Flood
from gateway.events import CallerGone, CallerKey, CallerTyped
from gateway.ports import LineEvent
from tests.support.one_call import make


@pytest.mark.parametrize(("gap", "keys"), [(0.0, 40), (0.05, 40), (0.2, 2000)])
def test_what_a_person_or_a_phone_presses_is_taken(gap: float, keys: int) -> None:
    flood = Flood(KEYS)
    assert all(flood.takes(5.0 + number * gap) for number in range(keys))
    assert flood.over(1e9) == 0


def test_a_flood_is_dropped_until_it_ends_and_counted_once() -> None:
    flood = Flood(KEYS)
    taken = sum(flood.takes(5.0 + number * 0.01) for number in range(5000))
    assert taken <= KEYS.burst + 3
    assert flood.over(55.0) == 0
    assert flood.over(56.5) == 5000 - taken
    assert flood.over(57.0) == 0
    assert flood.takes(60.0)


@given(gaps=st.lists(st.floats(0, 3), max_size=200))
def test_what_is_taken_is_never_more_than_allowed(gaps: list[float]) -> None:
    flood, now, told = Flood(KEYS), 0.0, 0
    taken: list[float] = []
    for gap in gaps:
        now += gap
        told += flood.over(now)
        if flood.takes(now):
            taken.append(now)
    told += flood.over(float("inf"))
    assert len(taken) + told == len(gaps)
    assert len(taken) <= KEYS.burst + KEYS.rate * now + 1
    assert all(first <= second for first, second in pairwise(taken))


@pytest.mark.parametrize(
    ("press", "kind", "line", "most"),
    [
        (lambda: CallerKey("1"), "keys", "key", 45),
        (lambda: CallerTyped("hello"), "texts", "caller_spoke", 12),
    ],
    ids=["keys", "texts"],
)
@pytest.mark.parametrize("to_the_end", [True, False])
async def test_a_call_takes_no_flood_and_tells_it_once(
    press: Callable[[], LineEvent], kind: str, line: str, most: int, to_the_end: bool
) -> None:
    call, log = make(1)
    async with asyncio.TaskGroup() as group:
        group.create_task(call.run())
        await asyncio.sleep(0.1)
        for _ in range(3000):
            call.notice(press())
        if not to_the_end:
            call.tick(asyncio.get_running_loop().time())
            assert log.of("input_dropped") == []
            await asyncio.sleep(2)
            call.tick(asyncio.get_running_loop().time())
            assert len(log.of("input_dropped")) == 1
        call.notice(CallerGone("done"))
    assert len(log.of(line)) < most
    (dropped,) = log.of("input_dropped")
    assert dropped["kind"] == kind
    assert dropped["count"] >= 3000 - most
    names = [event for _, event, _ in log.lines]
    assert names.index("input_dropped") < names.index("call_ended")
