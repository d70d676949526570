"""What one rate comes to, which rates say nothing, and the capacity of a sweep."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from gateway.goodput.curve import Point, Spread, Usage, capacity, point
from gateway.goodput.judging import LATE, JudgedCall, JudgedTurn, Limits, TurnFigures
from gateway.goodput.machine import machine
from gateway.goodput.plot import draw
from gateway.goodput.refusals import Refused
from gateway.goodput.report import document, told, verdict
from gateway.goodput.validity import Loads, problems

TURN = TurnFigures(5.0, 0.5, 6.0, None, frames=100, late=1, missing=0)
GOOD = JudgedCall(0.1, None, "", (JudgedTurn(TURN, ()),) * 3)
BAD = replace(GOOD, turns=(JudgedTurn(TURN, ()), JudgedTurn(TURN, (LATE,))))
BUSY = JudgedCall(None, Refused("capacity", "HTTP 503"), "")
CALM = Loads(0.2, {"model": 0.1})
USAGE = Usage(60.0, 600.0, 12.0, CALM)


def test_a_rate_is_summed_up() -> None:
    one = point(0.5, 10.0, [GOOD, GOOD, BAD, BUSY], Limits(), USAGE, [])
    assert (one.placed, one.answered, one.refused, one.broken) == (4, 3, 1, 0)
    assert one.good == 7 / 8
    assert one.faults[LATE] == 1
    assert one.held == 10.0
    assert one.cost == pytest.approx(0.02)
    assert one.goodput == pytest.approx(0.25)
    assert one.late == 0.01
    assert one.response == Spread(0.5, 0.5)
    assert one.refusals == {"HTTP 503": 1}
    assert one.valid


def test_what_makes_a_rate_invalid() -> None:
    assert problems([GOOD, BUSY], CALM) == []
    assert problems([GOOD], Loads(0.71, {})) == ["the callers' process used 71% of a core"]
    assert problems([GOOD], Loads(0.1, {"stand-in 7": 0.9})) == ["stand-in 7 used 90% of a core"]
    assert problems([GOOD], Loads(0.5, {"stand-in 7": 0.3}, 0.8)) == [
        "callers and stand-ins used 80% of the core they share"
    ]
    assert problems([GOOD], Loads(0.1, {}, clock=0.3)) == [
        "the callers' own clock was up to 300 ms late"
    ]
    assert problems([GOOD], Loads(0.1, {}, clock=0.3), late_after=0.4) == []
    other = JudgedCall(None, Refused("ports", "[Errno 99] no address"), "")
    assert problems([GOOD, other], CALM) == [
        "1 calls met another limit (ports): [Errno 99] no address"
    ]
    assert problems([GOOD, other], CALM, ("ports",)) == []
    assert problems([BUSY], CALM) == ["no turn could be judged"]


def rate(number: float, good: float | None, *said: str) -> Point:
    one = point(number, 20 * number, [GOOD], Limits(), USAGE, said)
    return replace(one, good=good)


def test_the_capacity_is_the_highest_rate_before_the_first_that_is_not_good() -> None:
    sweep = [rate(0.1, 1.0), rate(0.2, 0.96), rate(0.4, 0.9), rate(0.8, 0.97)]
    found = capacity(sweep)
    assert found is not None
    assert found.rate == 0.2
    assert capacity([rate(0.1, 0.94)]) is None
    assert capacity([rate(0.1, 1.0, "the callers' process used 80% of a core")]) is None
    assert capacity([rate(0.1, None)]) is None
    assert capacity([]) is None


def test_it_is_told_in_a_table_and_a_document() -> None:
    sweep = [rate(0.1, 1.0), rate(0.2, 0.5, "ports ran out")]
    lines = told(sweep, 0.95)
    assert len({len(line.split("  ")) for line in lines[:1]}) == 1
    assert "INVALID" in lines[2]
    assert any("INVALID: ports ran out" in line for line in lines[3:])
    assert lines[-1].startswith("capacity: 0.1 calls/s, 2.0 calls at once offered")
    assert "or more" in verdict(sweep[:1], 0.95)
    found = document("twilio:ws://x", machine(), {"seed": "1"}, sweep, 0.95, ["no log"])
    assert found["valid"] is False
    assert found["capacity"] == {"rate": 0.1, "offered": 2.0}
    assert [each["valid"] for each in found["points"]] == [True, False]
    assert found["left_out"] == ["no log"]


def test_the_picture_is_well_formed_and_marks_what_is_invalid() -> None:
    sweep = [rate(0.1, 1.0), rate(0.2, 0.97), rate(0.4, 0.6, "<busy & late>")]
    picture = ElementTree.fromstring(draw("a <b> & c", {"one": sweep, "two": sweep[:1]}))
    space = {"s": "http://www.w3.org/2000/svg"}
    dots = picture.findall("s:circle[s:title]", space)
    assert len(dots) == 4
    assert [dot.get("fill") == "#ffffff" for dot in dots] == [False, False, True, False]
    assert "<busy & late>" in (dots[2].findtext("s:title", "", space))
    ElementTree.fromstring(draw("nothing", {"none": []}))
