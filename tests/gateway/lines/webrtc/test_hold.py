"""Pages that lose their connection and come back, judged by what was heard at the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import numpy as np
import pytest

from gateway.events import CallerGone, EndAsked
from tests.gateway.lines.webrtc.harness import Page, serving, until, visiting
from tests.support.whole_call import Whole, WholeCalls, is_whole, scales_heard

RATE = 24000
QUESTION = np.rint(6000 * np.sin(2 * np.pi * 300 * np.arange(RATE) / RATE)).astype("<i2").tobytes()
"""A second of somebody's voice."""
BREAK = 8.0
"""Seconds: longer than an answer may take to be bridged, shorter than a call waits for its page."""


@asynccontextmanager
async def talking(**settings: object) -> AsyncIterator[tuple[Page, Whole]]:
    """Visit a page, and begin to talk to an agent."""
    async with asyncio.TaskGroup() as group:
        calls = WholeCalls(group, **settings)
        async with serving(calls) as served, visiting(served) as page:
            await until(lambda: calls.all)
            await asyncio.sleep(1.0)
            yield page, calls.all[0]


@contextmanager
def broken(page: Page) -> Iterator[None]:
    """Take the page's network away, both ways."""

    class Nowhere:
        def __init__(self, transport: Any) -> None:
            self.transport = transport

        def sendto(self, *packet: Any) -> None:
            pass

        def __getattr__(self, name: str) -> Any:
            return getattr(self.transport, name)

    protocols = [one for ice in page.browser.connections() for one in ice._protocols]
    for protocol in protocols:
        protocol.transport = Nowhere(protocol.transport)
        protocol.datagram_received = lambda data, addr: None
    try:
        yield
    finally:
        for protocol in protocols:
            protocol.transport = protocol.transport.transport
            del protocol.datagram_received


def heard(page: Page) -> list[list[tuple[int, int]]]:
    return scales_heard(page.heard(), page.caller.rate)


async def until_sound(page: Page) -> None:
    await until(lambda: heard(page))


async def test_a_turn_that_ends_while_the_page_is_away_is_answered_when_it_is_back() -> None:
    async with talking() as (page, whole):
        page.phone.mouth.speak(QUESTION)
        await asyncio.sleep(1.1)
        with broken(page):
            await asyncio.sleep(BREAK)
            assert [name for _, name, _ in whole.log.lines if name in ("turn", "agent_spoke")] == []
            assert whole.log.of("turn_ended") != []
        await asyncio.sleep(4.0)
        (one,) = heard(page)
        assert is_whole(one)
        (turn,) = whole.log.of("turn")
        assert turn["response"] < 3.0
        assert turn["held"] == pytest.approx(BREAK, abs=0.2)
        assert [said["kind"] for said in whole.log.of("agent_spoke")] == ["reply"]
        assert [name for _, name, _ in whole.log.lines if name in ("idle", "fault")] == []
        assert [entry.role for entry in whole.history] == ["caller", "agent"]


@pytest.mark.parametrize("after", [0.1, 0.7, 1.3, 1.75])
async def test_what_nobody_heard_is_said_again_from_where_the_break_began(after: float) -> None:
    """The break is noticed after a second, and what was sent meanwhile came to nobody: also where
    the last of the answer was among it, so that it was thought to be over."""
    async with talking() as (page, whole):
        page.phone.mouth.speak(QUESTION)
        await until_sound(page)
        await asyncio.sleep(after)
        with broken(page):
            await asyncio.sleep(BREAK)
        await asyncio.sleep(4.0)
        (one,) = heard(page)
        assert is_whole(one, slack=2)
        assert len(whole.log.of("agent_spoke")) == 1
        assert len(whole.log.of("held")) == len(whole.log.of("released")) == 1
        assert whole.log.of("idle") == []


async def test_a_turn_end_is_not_the_pages_return() -> None:
    """Nothing that the conversation does lets sound go to a page that is away."""
    async with talking() as (page, whole):
        page.phone.mouth.speak(QUESTION)
        await until_sound(page)
        await asyncio.sleep(0.5)
        with broken(page):
            await asyncio.sleep(3.0)
            whole.call.end(EndAsked("Goodbye.", "drained"))
            waiting = whole.call.leg.playout.waiting
            await asyncio.sleep(3.0)
            assert whole.call.leg.playout.waiting >= waiting > 0
            assert not [e for _, e in whole.call.seen if isinstance(e, CallerGone)]
        await until(lambda: whole.over.is_set())
        assert is_whole(heard(page)[-1])
