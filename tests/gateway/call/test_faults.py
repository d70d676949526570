"""A part that fails is told of once, and again when it is well."""

from __future__ import annotations

import pytest

from gateway.call.faults import Faults
from gateway.events import Record
from gateway.log_events import FaultLogged, RecoveredLogged


@pytest.mark.parametrize("part", ["voice_activity", "turn_detector"])
def test_a_part_fails_and_recovers_once_however_often_it_is_looked_at(part: str) -> None:
    told: list[Record] = []
    faults = Faults(told.append)
    for reason in ("", "no answer", "no answer", "late", "", "", "no answer"):
        faults.note(part, reason)
    assert [record.event for record in told] == [
        FaultLogged(part=part, reason="no answer"),
        RecoveredLogged(part=part),
        FaultLogged(part=part, reason="no answer"),
    ]
    assert faults.failing == {part: "no answer"}


def test_one_part_that_works_says_nothing_of_another() -> None:
    told: list[Record] = []
    faults = Faults(told.append)
    faults.note("voice_activity", "no answer")
    faults.note("turn_detector", "")
    assert len(told) == 1
    assert faults.failing == {"voice_activity": "no answer"}
