"""The one clock: on its schedule whatever happens, and the loop at rest when many are paced."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest
import uvloop

from gateway.call.pacer import BUSY, PASSES, RESTS, Pacer
from gateway.plumbing.virtual_time import VirtualTimeLoop, run
from media.frame import FRAME_SECONDS


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


async def test_the_loop_rests_no_more_when_legs_have_gone() -> None:
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
    got = [at for at in slept if left + FRAME_SECONDS < at < back]
    assert got == []


class Desk:
    """Something that can be read after every rest, and leads to more a pass of the loop later."""

    def __init__(self, steps: int, passes: Callable[[float], None]) -> None:
        """What is read takes so many passes more; `passes` lets the time of a rest pass."""
        self.beats: list[str] = []
        "what happened, in order"
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._steps = steps
        self._passes = passes

    def __enter__(self) -> Desk:
        asyncio.get_running_loop().add_reader(self._near, self._read)
        return self

    def __exit__(self, *raised: object) -> None:
        asyncio.get_running_loop().remove_reader(self._near)
        self._near.close()
        self._far.close()

    def sleep(self, seconds: float) -> None:
        self.beats.append("rest")
        self._passes(seconds)
        self._far.send(b"x")

    def send_due(self, now: float) -> None:
        self.beats.append("send")

    def tick(self, now: float) -> None:
        self.beats.append("tick")

    def _read(self) -> None:
        self._near.recv(1)
        self._step(0)

    def _step(self, number: int) -> None:
        self.beats.append(f"step {number}")
        if number < self._steps:
            asyncio.get_running_loop().call_soon(self._step, number + 1)


@pytest.mark.parametrize(("legs", "rests"), RESTS.items())
async def test_a_tick_goes_before_what_can_be_read_and_that_is_done_with_before_the_next_rest(
    legs: int, rests: int
) -> None:
    steps = [f"step {number}" for number in range(PASSES)]
    frame = ["rest", *steps] * (rests - 1) + ["rest", "send", "tick", *steps]
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    with Desk(PASSES - 1, loop.block) as desk:  # this loop reads at the end of a pass
        pacer = Pacer(desk.sleep)
        pacer.start()
        pacer.add(desk)
        for _ in range(legs - 1):
            pacer.add(Leg())
        await asyncio.sleep(0.5)
        pacer.stop()
    found = desk.beats
    assert found[:2] == ["send", "tick"]
    frames = len(found[2:]) // len(frame)
    assert frames >= 20
    assert found[2:][: frames * len(frame)] == frame * frames


def test_on_the_gateways_own_loop_voice_is_judged_before_the_loop_rests() -> None:
    """Sound that is read leads to judged voice two passes later; time does not matter here."""

    async def main() -> list[str]:
        with Desk(2, lambda seconds: None) as desk:
            pacer = Pacer(desk.sleep)
            pacer.start()
            for _ in range(BUSY):
                pacer.add(Leg())
            async with asyncio.timeout(10):
                while desk.beats.count("rest") < 30:  # noqa: ASYNC110 - each pass counts
                    await asyncio.sleep(0)
            pacer.stop()
        return desk.beats

    found = uvloop.run(main())
    round_ = ["rest", "step 0", "step 1", "step 2"]
    rounds = len(found) // len(round_)
    assert found[: rounds * len(round_)] == round_ * rounds
