"""Calls that come together count each other before they are up, on every line."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from gateway.doors.owner import bearer
from gateway.lines.sip.dialing import DialOrder
from gateway.lines.twilio.settings import TwilioSettings
from tests.gateway.lines.sip import test_line as sip
from tests.gateway.lines.twilio import harness as twilio
from tests.gateway.lines.webrtc import harness as webrtc
from tests.support.few_places import FewPlaces
from tests.support.owner import OWNER


async def test_offers_that_come_together_do_not_all_come_in() -> None:
    places = FewPlaces(3)
    async with webrtc.serving(places) as served:
        offer = await webrtc.browser_offer()
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(served.offer(offer)) for _ in range(20)]
        codes = sorted(one.result().status_code for one in asking)
        assert codes == [201] * 3 + [503] * 17
        await asyncio.sleep(20.0)  # nobody connected
        assert not places.taken
        async with webrtc.visiting(served):
            await places.next()
            assert not places.taken  # the call has it now


async def test_a_call_between_webhook_and_stream_has_its_place() -> None:
    places = FewPlaces(2)
    settings = TwilioSettings(token_seconds=30.0)
    async with (
        twilio.serving(settings, places) as served,  # type: ignore[arg-type]
        httpx.AsyncClient() as client,
    ):
        said = []
        for number in range(3):
            form = {"CallSid": f"CA{number}", "AccountSid": "AC1"}
            answer = await client.post(served.voice, data=form, headers=bearer(OWNER))
            said.append("<Connect>" in answer.text)
        assert said == [True, True, False]
        await asyncio.sleep(30.0)  # no stream came
        assert not places.taken


@pytest.mark.real_time
async def test_a_call_that_rings_has_its_place() -> None:
    places = FewPlaces(1)
    async with sip.end(places, ring_before_answer=1.0) as far, sip.end() as near:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(near.line.dialler.dial(DialOrder(far.uri)))
            await sip.until(lambda: bool(places.taken))
            second = await near.line.dialler.dial(DialOrder(far.uri))
            assert (second.outcome, second.code) == ("failed", 503)
        assert first.result().outcome == "answered"
        await sip.until(lambda: not places.taken)


@pytest.mark.real_time
async def test_a_call_that_we_place_has_one_until_it_comes_to_nothing() -> None:
    places = FewPlaces(1)
    async with sip.end(places) as near, sip.end(ring_before_answer=20.0) as far:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(near.line.dialler.dial(DialOrder(far.uri)))
            await sip.until(lambda: bool(places.taken))
            second = await near.line.dialler.dial(DialOrder(far.uri))
            assert second.outcome == "unavailable"
            first.cancel()
        await sip.until(lambda: not places.taken)
