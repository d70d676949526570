"""Calls that the far side asks for: placed to whom a list allows, and to nobody else."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from tests.gateway.lines.sip.test_line import end, until

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize("dial", [(), ("+4930*",), ("sip:*@pbx.example.com",)])
async def test_a_refer_to_whom_nobody_allowed_is_refused_and_logged(dial: tuple[str, ...]) -> None:
    with capture_logs() as logs:
        async with end() as one, end(accept_refer="always", dial=dial) as two, end() as three:
            await one.call(two)
            caller, agent = await one.parties.next(), await two.parties.next()
            caller.leg.transfer(three.uri, "")
            await until(lambda: caller.transfer is not None)
            assert caller.transfer is not None
            assert not caller.transfer.accepted
            assert not three.parties.all
            assert not agent.gone.is_set()
    (line,) = [one for one in logs if one["event"] == "sip_refer_refused"]
    assert "sip.dial" in line["why"]
