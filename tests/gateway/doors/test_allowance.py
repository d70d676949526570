"""How many calls are placed in an hour."""

from __future__ import annotations

from gateway.doors.allowance import Allowance


def test_as_many_as_may_be_in_any_hour() -> None:
    allowance = Allowance(2)
    assert allowance.take(0.0)
    assert allowance.take(1800.0)
    assert not allowance.take(3599.0)
    assert allowance.take(3600.0)  # the first is an hour old
    assert not allowance.take(5399.0)
    assert allowance.take(5400.0)
