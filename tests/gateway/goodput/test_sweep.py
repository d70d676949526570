"""Calls at a rate, placed in virtual time over a real Twilio socket, to servers with faults."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gateway.caller.place import CallOptions, line_to, parse_target
from gateway.goodput.arrivals import Lengths
from gateway.goodput.callers import Habits
from gateway.goodput.curve import Point
from gateway.goodput.judging import LATE, MISSING, RESPONSE, STOP, Limits
from gateway.goodput.log_claims import LogTail
from gateway.goodput.sweep import Course, Trial, Watched, sweep
from gateway.ports import Leg, Refusal
from tests.gateway.caller.agent import Agent, Manners, OneCall
from tests.gateway.caller.test_place import voice
from tests.gateway.lines.twilio.harness import serving
from tests.support.log_lines import whole

COURSE = Course((0.4,), Lengths("uniform", 6.0, 14.0), seconds=20.0, settle=4.0, seed=7)
HABITS = Habits([voice("a", 0.8), voice("b", 1.2)], cut_ins=0.3)


async def points(agent: Agent, course: Course = COURSE) -> Sequence[Point]:
    async with serving(None, agent) as served:  # type: ignore[arg-type]
        return await points_of(f"twilio:{served.url}", course)


async def points_of(target: str, course: Course) -> Sequence[Point]:
    line = line_to(parse_target(target), CallOptions())
    seen: list[Point] = []
    found = await sweep(Trial(line, course, HABITS, Limits(), Watched()), seen.append)
    assert seen == found
    return found


@dataclass
class Dropping(Agent):
    """Loses one frame in eight on its way out."""

    def begin(self, leg: Leg) -> None:
        call = _LosesFrames(leg, self.manners)
        self.calls.append(call)
        leg.attach(call)  # type: ignore[arg-type]
        call.tick()


class _LosesFrames(OneCall):
    def tick(self) -> None:
        if self._ticks % 8 == 7:
            self.leg.playout.pull(self._loop.time())
        super().tick()


@dataclass
class Filling(Agent):
    """Takes two calls at once."""

    most: int = 2
    refused: int = field(default=0)

    def admit(self, agent: str) -> Refusal | None:
        talking = sum(not call.events for call in self.calls)
        return Refusal("busy", 5, "All lines are busy.", "calls") if talking >= self.most else None


async def test_an_agent_that_answers_in_time_is_good_at_every_rate() -> None:
    agent = Agent(Manners(reply=3.0))
    low, high = await points(agent, Course((0.4, 0.2), COURSE.lengths, 20.0, 4.0, seed=7))
    assert (low.rate, high.rate) == (0.2, 0.4)
    for each in (low, high):
        assert each.valid, each.problems
        assert each.good == 1.0, each.faults
        assert each.turns > 5
        assert each.refused == each.broken == 0
        assert each.response.p50 == pytest.approx(0.4, abs=0.03)
        assert each.stop_delay.p95 == pytest.approx(0.2, abs=0.03)
        assert each.held == pytest.approx(each.offered, rel=0.5)
    assert high.placed > low.placed


async def test_the_same_seed_places_the_same_calls() -> None:
    (one,), (two,) = await points(Agent()), await points(Agent())
    assert (one.placed, one.turns) == (two.placed, two.turns)
    assert one.held == pytest.approx(two.held)


async def test_late_answers_are_found() -> None:
    (found,) = await points(Agent(Manners(patience=2.2)))
    assert found.valid
    assert found.faults[RESPONSE] == found.turns
    assert found.good == 0.0


async def test_an_agent_that_does_not_stop_is_found() -> None:
    (found,) = await points(Agent(Manners(stops_after=0.9, reply=4.0)))
    assert found.faults[STOP] > 0
    assert (found.good or 0.0) < 0.95


async def test_frames_that_are_lost_are_found() -> None:
    (found,) = await points(Dropping(Manners(reply=3.0)))
    assert found.valid
    assert found.faults[MISSING] + found.faults[LATE] > 0.5 * found.turns
    assert found.missing > 0.02


async def test_refused_calls_are_counted_apart_and_the_others_are_good() -> None:
    (found,) = await points(Filling())
    assert found.valid, found.problems
    assert found.refused > 2
    assert found.placed == found.answered + found.refused
    assert found.good == 1.0
    assert found.held <= 2.01
    assert list(found.refusals) == ["the webhook answered with reject busy"]


async def test_a_door_that_is_closed_is_no_capacity() -> None:
    (found,) = await points(Agent(refusal=Refusal("unknown_agent", text="nobody")))
    assert not found.valid
    assert any("another limit (door)" in said for said in found.problems)


async def test_no_server_is_no_result() -> None:
    (found,) = await points_of("twilio:ws://127.0.0.1:9/twilio/stream", COURSE)
    assert found.broken == found.placed > 5
    assert found.good == 0.0


async def test_a_sweep_ends_soon_after_the_first_rate_that_is_not_good() -> None:
    course = Course((0.1, 0.2, 0.3, 0.4), COURSE.lengths, 8.0, 2.0, seed=1)
    assert len(await points(Agent(Manners(patience=2.2)), course)) == 2


def test_claims_and_causes_are_read_from_where_the_log_had_ended(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    log.write_bytes(whole(1.0, "interrupted", heard=9.0) + b"\n")
    tail = LogTail(log)
    with log.open("ab") as file:
        file.write(whole(2.0, "interrupted", utterance=3, heard=1.5) + b"\nnot json\n")
        refused = json.loads(whole(0.0, "call_refused", cause="ports", known_as="CA7"))
        file.write(json.dumps({**refused, "call": ""}).encode() + b'\n{"half')
    told = tail.read()
    ((claim,),) = told.claims.values()
    assert (claim.at, claim.utterance, claim.heard) == (2.0, 3, 1.5)
    assert told.causes == {"CA7": "ports"}


async def test_callers_that_are_overloaded_say_nothing_about_the_server() -> None:
    async def burn() -> None:
        """Take 0.8 s of a core within the second that is measured."""
        await asyncio.sleep(0.7)
        until = time.process_time() + 0.8
        while time.process_time() < until:
            pass

    async with asyncio.TaskGroup() as group:
        group.create_task(burn())
        course = Course((3.0,), Lengths("fixed", 1.0), seconds=1.0, settle=0.1, seed=1)
        (found,) = await points_of("twilio:ws://127.0.0.1:9/twilio/stream", course)
    assert not found.valid
    assert any("the callers' process used" in said for said in found.problems)
