"""A call that we broke ourselves ends with a word, once, and its log with its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from structlog.testing import capture_logs

from gateway.call.call import Call
from gateway.call.pacer import Pacer
from gateway.events import CallerGone, TimePassed
from media.playout import Chunk
from tests.support.cascade_call import FakeLeg, Log
from tests.support.one_call import make

SOON = 2.0
"""Seconds within which the caller hears a word."""


class Ear(FakeLeg):
    """Notes when sound left, and how it ended."""

    def __init__(self, of: FakeLeg) -> None:
        super().__init__(of.info)
        self.times: list[float] = []
        self.hung_up: list[str] = []

    def send(self, chunks: Sequence[Chunk]) -> None:
        if chunks:
            self.times.append(asyncio.get_running_loop().time())

    def hang_up(self, reason: str) -> None:
        self.hung_up.append(reason)
        super().hang_up(reason)


def lose_tools(call: Call) -> None:
    call.conversation.state.tools = None  # type: ignore[assignment]
    call.post(TimePassed())


def lose_hearing(call: Call) -> None:
    def breaks(frame: object) -> None:
        raise KeyboardInterrupt

    call._hearing.feed = breaks  # type: ignore[method-assign]


def lose_group(call: Call) -> None:
    async def breaks() -> None:
        raise RuntimeError("a task of the call")

    call._tasks.spawn(breaks(), "x", "line")


def lose_ticks(call: Call) -> None:
    def breaks(now: float) -> None:
        raise RuntimeError("a tick")

    call._mouth.tick = breaks  # type: ignore[method-assign]


def lose_mouth(call: Call) -> None:
    def breaks(now: float, *, ticks: bool = True) -> None:
        raise RuntimeError("the mouth itself")

    call._mouth.send = breaks  # type: ignore[method-assign]
    lose_tools(call)


async def broken(
    break_it: Callable[[Call], None], then: Callable[[Call], None]
) -> tuple[Ear, Log, float]:
    """Break a call some seconds after it began; return its line, its log, and when."""
    call, log = make(1)
    leg = call.leg = call._mouth._leg = Ear(call.leg)  # type: ignore[arg-type, assignment]
    leg.playout = call._mouth._playout
    call._farewell._leg = leg
    pacer = Pacer()
    pacer.start()
    pacer.add(call)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(call.run())
        await asyncio.sleep(4)
        leg.times.clear()
        at = asyncio.get_running_loop().time()
        break_it(call)
        await asyncio.sleep(0.3)
        then(call)
    pacer.stop()
    return leg, log, at


@pytest.mark.parametrize("break_it", [lose_tools, lose_hearing, lose_group, lose_ticks])
async def test_the_caller_hears_a_word_and_is_hung_up_on_after_it(
    break_it: Callable[[Call], None],
) -> None:
    with capture_logs():
        leg, log, at = await broken(break_it, lambda call: None)
    assert leg.times[0] - at < SOON
    assert len(leg.times) > 100  # the sentence, whole
    assert leg.hung_up == ["internal error"]
    assert [one["part"] for one in log.of("fault")] == ["gateway"]
    (ended,) = log.of("call_ended")
    assert (ended["ended_by"], ended["reason"]) == ("failure", "internal error")
    assert ended["seconds"] > 4


async def test_a_caller_who_leaves_meanwhile_has_left() -> None:
    with capture_logs():
        leg, log, _ = await broken(lose_tools, lambda call: call.notice(CallerGone("hung up")))
    assert leg.hung_up == []
    assert [one["reason"] for one in log.of("call_ended")] == ["hung up"]


async def test_what_speaks_may_be_what_broke() -> None:
    with capture_logs() as lines:
        leg, log, _ = await broken(lose_mouth, lambda call: None)
    assert leg.times == []
    assert leg.hung_up == ["internal error"]
    assert len(log.of("call_ended")) == len(log.of("fault")) == 1
    assert [one["event"] for one in lines if one["log_level"] == "error"] == ["call_broke"] * 2
