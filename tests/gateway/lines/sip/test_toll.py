"""Calls that the far side asks for: placed to whom a list allows, and to nobody else."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from tests.gateway.lines.sip.test_line import end, run, until


@pytest.mark.parametrize("dial", [(), ("+4930*",), ("sip:*@pbx.example.com",)])
def test_a_refer_to_whom_nobody_allowed_is_refused_and_logged(dial: tuple[str, ...]) -> None:
    async def work() -> None:
        async with end() as one, end(accept_refer="always", dial=dial) as two, end() as three:
            await one.call(two)
            caller, agent = await one.parties.next(), await two.parties.next()
            caller.leg.transfer(three.uri, "")
            await until(lambda: caller.transfer is not None)
            assert caller.transfer is not None
            assert not caller.transfer.accepted
            assert not three.parties.all
            assert not agent.gone.is_set()

    with capture_logs() as logs:
        run(work)
    (line,) = [one for one in logs if one["event"] == "sip_refer_refused"]
    assert "sip.dial" in line["why"]
