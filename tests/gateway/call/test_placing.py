"""How many callers a call may put through, beside all others."""

from __future__ import annotations

from gateway.doors.allowance import Allowance
from gateway.events import Transfer
from tests.support.one_call import Line


async def test_a_transfer_is_not_placed_when_there_were_as_many_as_may_be() -> None:
    allowance = Allowance(1)
    first, second = (Line(may_place=lambda: allowance.take(0.0)) for _ in range(2))
    for each in (first, second):
        async with each.hold() as line:
            line.call.conversation.state.finish_with(Transfer("+1555", ""), line.began)
            await line.at(20.0)  # the longest that a last word is waited for, and more
    assert (first.leg.handed_on, second.leg.handed_on) == (["+1555"], [])
    assert not first.log.of("transfer")
    (told,) = second.log.of("transfer")
    assert "placed_per_hour" in str(told["reason"])
    assert second.call.conversation.state.end.phase == "ended"
