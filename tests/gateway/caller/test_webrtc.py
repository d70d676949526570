"""A headless caller on the real WebRTC line, in virtual time."""

from __future__ import annotations

import pytest

from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target, place_call
from gateway.caller.plan import CallPlan, Keys, Say
from gateway.caller.sound import recording
from gateway.caller.webrtc import WebrtcCaller
from gateway.ports import Refusal
from tests.gateway.lines.webrtc.harness import serving
from tests.support.sip_answers import Parties, tone

RATE = 24000


async def test_what_is_said_comes_back_and_is_measured() -> None:
    parties = Parties(echo=True)
    async with serving(parties) as served:
        said = recording("tone", bytes(RATE) + tone(600, 1.5, RATE) + bytes(RATE), RATE)
        plan = CallPlan((Say(said),), hang_up_after=5.0, greeting=0.0)
        report = await place_call(plan, parse_target(f"webrtc:{served.url}"))
        assert (report.answered, report.ended_by, report.reason) == (True, "caller", "done")
        assert report.problems == ()
        assert report.call_id == parties.all[0].leg.info.call_id
        (turn,) = report.turns
        assert turn.reply_seconds == pytest.approx(1.5, abs=0.1)
        assert report.missing_or_late_frames == 0


async def test_keys_are_pressed_on_the_data_channel() -> None:
    parties = Parties()
    async with serving(parties) as served:
        plan = CallPlan(keys=(Keys("42#", 1.0),), hang_up_after=3.0)
        await place_call(plan, parse_target(f"webrtc:{served.url}"))
        assert parties.all[0].keys == "42#"


async def test_a_refusal_is_no_answer() -> None:
    parties = Parties()
    parties.refusal = Refusal("busy", 5, "All lines are busy.")
    async with serving(parties) as served:
        report = await place_call(CallPlan(), parse_target(f"webrtc:{served.url}"))
        assert not report.answered
        assert report.reason == "HTTP 503 All lines are busy."
    report = await place_call(CallPlan(), parse_target(f"webrtc:{served.url}"))
    assert "not reached" in report.reason


async def test_lost_frames_are_missed_at_the_gateway() -> None:
    parties = Parties(echo=False)
    async with serving(parties) as served:
        caller = WebrtcCaller(served.url, loses=lambda frame: frame % 10 == 3)
        phone = Phone(CallPlan(hang_up_after=4.0), caller.form, NetworkSettings())
        await caller.call("x", phone)
        quality = parties.all[0].leg.stream.quality(0.0)  # type: ignore[attr-defined]
        assert quality.lost == pytest.approx(20, abs=2)


@pytest.mark.parametrize("address", ["webrtc:", "webrtc:ws://host/webrtc/desk", "webrtc:host"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="http"):
        parse_target(address)
