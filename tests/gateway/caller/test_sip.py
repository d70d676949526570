"""The SIP caller against the SIP line, over the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
import pytest
import uvloop

from gateway.caller.network import NetworkSettings
from gateway.caller.place import CallOptions, parse_target, place_call
from gateway.caller.plan import CallPlan, Keys
from gateway.caller.report import CallReport
from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import SipSettings
from gateway.ports import Refusal
from tests.support.owner import DOORS
from tests.support.sip_answers import Parties, tone

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def called(
    parties: Parties, plan: CallPlan, transport: str = "udp", network: NetworkSettings | None = None
) -> CallReport:
    """Serve, call, and give what the caller measured."""
    ready = asyncio.Event()
    line = SipLine(SipSettings(host="127.0.0.1", udp=0, tcp=0), parties, DOORS, default_agent="x")
    parties.pacer.start()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(line.run(ready.set))
        await ready.wait()
        port = line.network.port(transport)  # type: ignore[arg-type]
        target = parse_target(f"sip:bot@127.0.0.1:{port};transport={transport}")
        options = CallOptions(network=network or NetworkSettings(), parameters={"Order": "7"})
        report = await place_call(plan, target, options)
        parties.pacer.stop()
        task.cancel()
    return report


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_sound_keys_and_the_end(transport: str) -> None:
    parties = Parties(sound=tone(440, 1.0))
    plan = CallPlan(keys=(Keys("12", 0.3),), hang_up_after=1.5)
    report = run(called(parties, plan, transport))
    assert report.answered
    assert report.ended_by == "caller"
    assert not report.problems
    assert report.greeting.first_audio is not None
    (party,) = parties.all
    assert party.keys == "12"
    assert party.leg.info.variables["x-order"] == "7"
    assert len(party.heard) / 16000 > 1.2


@pytest.mark.real_time
async def test_the_agent_hangs_up() -> None:
    parties = Parties()
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(called(parties, CallPlan()))
        party = await parties.next()
        await asyncio.sleep(0.2)
        party.leg.hang_up("goodbye")
    report = calling.result()
    assert report.ended_by == "agent"
    assert "goodbye" in report.reason


def test_a_refusal_is_told() -> None:
    parties = Parties()
    parties.refusal = Refusal("busy", 10)
    report = run(called(parties, CallPlan()))
    assert not report.answered
    assert report.ended_by == "failure"
    assert report.reason.startswith("503")


def test_lost_frames_are_missed_and_concealed() -> None:
    parties = Parties()
    plan = CallPlan(hang_up_after=2.0)
    run(called(parties, plan, network=NetworkSettings(loss=0.1, seed=3)))
    (party,) = parties.all
    quality = party.leg.quality  # type: ignore[attr-defined]
    assert 4 <= quality.lost <= 20
    assert np.frombuffer(bytes(party.heard), dtype="<i2").size > 8000
