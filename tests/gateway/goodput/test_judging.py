"""Good turns, good calls, and what is over a limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.goodput.judging import (
    FAULTS,
    HEARD,
    LATE,
    MISSING,
    RESPONSE,
    STOP,
    JudgedCall,
    JudgedTurn,
    Limits,
    TurnFigures,
    good_share,
    judge_turn,
)
from gateway.goodput.refusals import Refused

LIMITS = Limits()
GOOD = TurnFigures(5.0, 0.5, 6.0, 0.3, frames=100, late=0, missing=0, heard_error=0.01)


def faults(**changes: float | None) -> tuple[str, ...] | None:
    judged = judge_turn(replace(GOOD, **changes), LIMITS)  # type: ignore[arg-type]
    return None if judged is None else judged.faults


def test_what_is_within_every_limit_is_good() -> None:
    assert faults() == ()
    assert faults(response=LIMITS.response, late=2, missing=1, heard_error=None) == ()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"response": 2.01}, RESPONSE),
        ({"response": None, "waited": 2.01}, RESPONSE),
        ({"stop_delay": 0.61}, STOP),
        ({"late": 3}, LATE),
        ({"missing": 2}, MISSING),
        ({"heard_error": 0.11}, HEARD),
    ],
)
def test_each_limit_is_found_by_itself(changes: dict[str, float | None], fault: str) -> None:
    assert faults(**changes) == (fault,)
    assert fault in FAULTS


def test_a_turn_whose_answer_could_not_be_missed_yet_is_not_judged() -> None:
    assert faults(response=None, waited=1.9) is None
    assert faults(response=1.0, waited=1.0) == ()


def call(*good: bool, **changes: object) -> JudgedCall:
    turns = tuple(JudgedTurn(GOOD, () if each else (LATE,)) for each in good)
    return replace(JudgedCall(0.1, None, "", turns), **changes)  # type: ignore[arg-type]


def test_a_call_is_good_when_it_was_answered_in_time_and_all_its_turns_are_good() -> None:
    assert call(True, True).good(LIMITS)
    assert not call(True, False).good(LIMITS)
    assert not call(True, answered_after=2.1).good(LIMITS)
    assert not call(answered_after=None).good(LIMITS)
    assert not call(True, broken="1011 internal error").good(LIMITS)


def test_a_broken_call_is_one_bad_turn_and_a_refused_one_is_none() -> None:
    refused = call(answered_after=None, refused=Refused("capacity", "HTTP 503"))
    assert good_share([call(True, True), call(True, False), refused]) == 0.75
    assert good_share([call(True, True, True), call(broken="1006 lost")]) == 0.75
    assert good_share([refused]) is None
