"""Calls over SIP that never came to be: their codes, and what is written down of them."""

from __future__ import annotations

import asyncio

import pytest

from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import Refusal
from tests.gateway.lines.sip.test_line import end, until

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize(
    ("refusal", "outcome", "code"),
    [
        (Refusal("busy"), "busy", 486),
        (Refusal("busy", 9), "failed", 503),
        (Refusal("draining", 9), "failed", 503),
        (Refusal("unknown_agent"), "not_found", 404),
        (Refusal("forbidden"), "refused", 403),
    ],
)
async def test_refusals_have_their_codes(refusal: Refusal, outcome: str, code: int) -> None:
    async with end() as near, end() as far:
        far.parties.refusal = refusal
        result = await near.call(far)
        assert (result.outcome, result.code) == (outcome, code)
        assert not len(far.line)
        (refused,), (failed,) = far.parties.turned_away, near.parties.turned_away
        assert isinstance(refused, CallRefusedLogged)
        assert (refused.cause, refused.code, refused.direction) == (
            refusal.kind,
            code,
            "inbound",
        )
        assert refused.known_as
        assert isinstance(failed, CallFailedLogged)
        assert (failed.outcome, failed.code) == (outcome, code)


async def test_a_call_that_nobody_may_place_or_that_is_given_up_is_written_down() -> None:
    async with end() as near, end(ring_before_answer=5.0) as far:
        near.parties.refusal = Refusal("draining", 9)
        assert (await near.call(far)).outcome == "unavailable"
        near.parties.refusal = None
        async with asyncio.TaskGroup() as group:
            call = group.create_task(near.call(far))
            await until(lambda: len(far.line) == 1)
            call.cancel()
        await until(lambda: not len(far.line))
    unplaced, given_up = near.parties.turned_away
    assert isinstance(unplaced, CallRefusedLogged)
    assert (unplaced.direction, unplaced.cause) == ("outbound", "draining")
    assert isinstance(given_up, CallFailedLogged)
    assert given_up.outcome == "cancelled"
    (missed,) = far.parties.turned_away
    assert isinstance(missed, CallRefusedLogged)
    assert missed.cause == "cancelled"
