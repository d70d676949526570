"""The one clock: on its schedule whatever happens, and the loop at rest when many are paced."""

from __future__ import annotations

import asyncio

import pytest

from gateway.call.pacer import BUSY, RESTS, Pacer
from media.frame import FRAME_SECONDS
from tests.support.virtual_time import VirtualTimeLoop, run


class Leg:
    """Notes when it is paced."""

    def __init__(self) -> None:
        self.ticks: list[float] = []

    def tick(self, now: float) -> None:
        self.ticks.append(now)


def paced(legs: int, seconds: float = 1.0, packets: int = 0) -> tuple[list[Leg], int, int]:
    """Pace so many legs; give them, how often the loop slept, and how many packets it handled."""

    async def main() -> tuple[list[Leg], int, int]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        slept, handled = [], []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            loop.block(seconds)

        pacer = Pacer(sleep)
        pacer.start()
        all_legs = [Leg() for _ in range(legs)]
        for leg in all_legs:
            pacer.add(leg)
        for number in range(packets):
            loop.call_later(number * seconds / packets, handled.append, loop.time())
        await asyncio.sleep(seconds)
        pacer.stop()
        await asyncio.sleep(0)
        return all_legs, len(slept), len(handled)

    return run(main())


@pytest.mark.parametrize("legs", [1, BUSY - 1, BUSY, 3 * BUSY, max(RESTS), 3 * max(RESTS)])
def test_every_leg_is_paced_on_the_schedule(legs: int) -> None:
    found, _, _ = paced(legs)
    for leg in found:
        begun = leg.ticks[0]
        due = [begun + n * FRAME_SECONDS for n in range(len(leg.ticks))]
        assert len(due) in (49, 50)
        assert leg.ticks == pytest.approx(due, abs=1e-6)


@pytest.mark.parametrize(("legs", "rests"), RESTS.items())
def test_a_busy_loop_sleeps_between_a_few_moments_of_a_frame_and_misses_nothing(
    legs: int, rests: int
) -> None:
    _, slept, handled = paced(legs, packets=400)
    assert 0.9 * 50 * rests <= slept <= 50 * rests
    assert handled == 400


def test_a_loop_with_few_legs_never_sleeps() -> None:
    _, slept, handled = paced(BUSY - 1, packets=400)
    assert slept == 0
    assert handled == 400


def test_the_loop_rests_no_more_when_legs_have_gone() -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            slept.append(loop.time())
            loop.block(seconds)

        pacer = Pacer(sleep)
        pacer.start()
        legs = [Leg() for _ in range(BUSY)]
        for leg in legs:
            pacer.add(leg)
        await asyncio.sleep(0.5)
        pacer.remove(legs[0])
        left = loop.time()
        await asyncio.sleep(0.5)
        pacer.add(legs[0])
        back = loop.time()
        await asyncio.sleep(0.5)
        pacer.stop()
        assert any(at < left for at in slept)
        assert any(at > back for at in slept)
        return [at for at in slept if left + FRAME_SECONDS < at < back]

    assert run(main()) == []
