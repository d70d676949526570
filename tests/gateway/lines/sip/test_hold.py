"""Calls that are put on hold and taken back, judged by what the telephone at the far end heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_args

import numpy as np
import pytest

from gateway.call.settings import FixedLines
from gateway.events import AgentHeard, EndAsked
from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import SipSettings
from tests.support.owner import DOORS
from tests.support.sip_phone import How, SipPhone
from tests.support.whole_call import Whole, WholeCalls, is_whole, scales_heard

WAYS = get_args(How)
QUESTION = np.rint(6000 * np.sin(2 * np.pi * 300 * np.arange(8000) / 8000)).astype("<i2").tobytes()
"""A second of somebody's voice."""
LONG = 40.0
"""Seconds: longer than every wait of a conversation."""


@asynccontextmanager
async def calling(
    begins: How | None = None, **settings: object
) -> AsyncIterator[tuple[SipPhone, Whole]]:
    """Call an agent; `begins`: the call is on hold when it begins."""
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        calls = WholeCalls(group, **settings)
        calls.pacer.start()
        line = SipLine(
            SipSettings(host="127.0.0.1", udp=0, tcp=None), calls, DOORS, default_agent="desk"
        )
        serving = group.create_task(line.run(ready.set))
        await ready.wait()
        phone = SipPhone(line.network.port("udp"))
        try:
            await phone.call(begins)
            await asyncio.sleep(0.5)
            yield phone, calls.all[0]
        finally:
            phone.close()
            serving.cancel()
            await asyncio.sleep(0.1)
            calls.pacer.stop()


@pytest.mark.parametrize("how", WAYS)
async def test_a_turn_that_ends_on_hold_is_answered_after_it_whole_and_once(how: How) -> None:
    """The caller asks, and puts the call on hold before anybody could answer."""
    async with calling() as (phone, whole):
        phone.say(QUESTION)
        await asyncio.sleep(1.1)
        await phone.hold(how)
        await asyncio.sleep(LONG)
        assert [name for _, name, _ in whole.log.lines if name in ("turn", "agent_spoke")] == []
        assert whole.log.of("turn_ended") != []  # and that was on hold
        assert phone.into_hold <= 1  # that was on its way
        await phone.resume()
        await asyncio.sleep(4.0)
        (heard,) = scales_heard(phone.recording(), 8000)
        assert is_whole(heard)
        (turn,) = whole.log.of("turn")
        assert turn["response"] < 3.0
        assert turn["held"] == pytest.approx(LONG, abs=0.5)
        assert [said["kind"] for said in whole.log.of("agent_spoke")] == ["reply"]
        assert [name for _, name, _ in whole.log.lines if name in ("idle", "fault")] == []
        assert [entry.role for entry in whole.history] == ["caller", "agent"]
        assert len([one for one in whole.model.asked if one.priority == "confirmed"]) <= 1


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("after", [0.3, 1.05, 1.97])
async def test_an_answer_that_is_cut_by_a_hold_goes_on_where_it_was(how: How, after: float) -> None:
    """Also where all of it has left, and its end has not been heard."""
    async with calling() as (phone, whole):
        phone.say(QUESTION)
        await until_sound(phone)
        await asyncio.sleep(after)
        await phone.hold(how)
        await asyncio.sleep(LONG)
        assert phone.into_hold <= 1  # that was on its way
        assert whole.log.of("agent_spoke") == []
        assert [e for _, e in whole.call.seen if isinstance(e, AgentHeard)] == []
        await phone.resume()
        await asyncio.sleep(4.0)
        (heard,) = scales_heard(phone.recording(), 8000)
        assert is_whole(heard)
        assert len(whole.log.of("agent_spoke")) == 1
        # The floor is the caller's only now, and they have all their time.
        assert whole.log.of("idle") == []
        await asyncio.sleep(8.0)
        assert len(whole.log.of("idle")) == 1


async def test_a_hold_that_comes_again_while_it_lasts_changes_nothing() -> None:
    """A switch brings its music from elsewhere, and refreshes the session."""
    async with calling() as (phone, whole):
        phone.say(QUESTION)
        await until_sound(phone)
        await asyncio.sleep(0.5)
        for how in ("sendonly", "inactive", "0.0.0.0", "sendonly"):
            await phone.hold(how)  # type: ignore[arg-type]
            await asyncio.sleep(1.0)
        await phone.resume()
        await asyncio.sleep(4.0)
        (heard,) = scales_heard(phone.recording(), 8000)
        assert is_whole(heard)
        assert len(whole.log.of("held")) == len(whole.log.of("released")) == 1


async def test_a_goodbye_waits_for_the_caller_and_then_the_call_ends() -> None:
    async with calling() as (phone, whole):
        await phone.hold("sendonly")
        whole.call.end(EndAsked("Goodbye.", "drained"))
        await asyncio.sleep(LONG)
        assert not phone.gone.is_set()
        await phone.resume()
        async with asyncio.timeout(5):
            await phone.gone.wait()
        (heard,) = scales_heard(phone.recording(), 8000)
        assert is_whole(heard)
        assert "drained" in phone.reason


async def test_a_caller_who_hangs_up_on_hold_heard_what_they_heard() -> None:
    async with calling() as (phone, whole):
        phone.say(QUESTION)
        await until_sound(phone)
        await asyncio.sleep(1.0)
        await phone.hold("inactive")
        await asyncio.sleep(LONG)
        phone.hang_up()
        async with asyncio.timeout(5):
            await whole.over.wait()
        (cut,) = whole.log.of("interrupted")
        assert cut["heard"] == pytest.approx(1.0, abs=0.05)
        assert cut["heard_text"] == "We open at nine"
        assert whole.history[-1].interrupted
        (ended,) = whole.log.of("call_ended")
        assert ended["ended_by"] == "caller"


@pytest.mark.parametrize("how", WAYS)
async def test_a_call_that_begins_on_hold_is_greeted_when_somebody_is_there(how: How) -> None:
    """A switch that puts callers through brings them so."""
    async with calling(how, lines=FixedLines(greeting="Hello.")) as (phone, whole):
        await asyncio.sleep(LONG)
        assert phone.into_hold <= 1  # that was on its way
        await phone.resume()
        await asyncio.sleep(3.0)
        (heard,) = scales_heard(phone.recording(), 8000)
        assert is_whole(heard)
        assert [said["kind"] for said in whole.log.of("agent_spoke")] == ["greeting"]
        assert whole.log.of("idle") == []


async def until_sound(phone: SipPhone) -> None:
    """Wait until the agent is heard."""
    async with asyncio.timeout(10):
        while not phone.sounds:  # noqa: ASYNC110 - it is virtual, and costs nothing
            await asyncio.sleep(0.02)
