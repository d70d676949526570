"""Legs of the SIP line over the loopback: hold, and hearing apart from sending."""

from __future__ import annotations

import asyncio

import pytest

from gateway.events import CallHeld, CallReleased
from gateway.lines.sip.leg import SipLeg
from tests.gateway.lines.sip.test_line import end, hears, until
from tests.support.sip_answers import Parties, tone

pytestmark = pytest.mark.real_time


async def test_hold_silences_both_directions_and_loses_no_call() -> None:
    async with (
        end(Parties(sound=tone(440, 1.0))) as near,
        end(Parties(sound=tone(660, 1.0))) as far,
    ):
        await near.call(far)
        ours, theirs = await near.parties.next(), await far.parties.next()
        await until(lambda: hears(theirs, 440))
        near.line.hold_leg(ours.leg, held=True)  # type: ignore[arg-type]
        assert isinstance(theirs.leg, SipLeg)
        leg = theirs.leg
        await until(lambda: not leg.stream.sends)
        await asyncio.sleep(0.5)
        assert not any(theirs.heard[-3200:])
        near.line.hold_leg(ours.leg, held=False)  # type: ignore[arg-type]
        await until(lambda: hears(theirs, 440) and hears(ours, 660))
        assert [type(event) for event in theirs.events] == [CallHeld, CallReleased]
        assert ours.events == []  # its own hold is no news to it


async def test_what_the_caller_says_does_not_hang_on_what_is_sent_to_them() -> None:
    async with end(Parties(sound=tone(440, 1.0))) as near, end() as far:
        await near.call(far)
        await near.parties.next()
        theirs = await far.parties.next()
        far.parties.pacer.remove(theirs)
        loop = asyncio.get_running_loop()
        heard = len(theirs.heard)
        for _ in range(20):
            theirs.leg.send([])
            await asyncio.sleep(0.02)
        assert len(theirs.heard) == heard
        for _ in range(20):
            theirs.leg.poll(loop.time())
            await asyncio.sleep(0.02)
        assert len(theirs.heard) == heard + 20 * 320
        far.parties.pacer.add(theirs)
