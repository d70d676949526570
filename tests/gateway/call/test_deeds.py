"""Tools that change the world are told in the log, from their beginning to their end."""

from __future__ import annotations

import asyncio

import pytest

from gateway.events import CallerGone, RunTool
from tests.support.cascade_call import Tools
from tests.support.one_call import make


@pytest.mark.parametrize(("stops", "outcome"), [(False, "done"), (True, "unknown")])
async def test_a_deed_is_told_when_it_begins_and_when_it_is_over(stops: bool, outcome: str) -> None:
    """Also after the end of the call, when nobody waits for it any more."""
    call, log = make(1, tools=Tools(seconds=60.0 if stops else 1.0))
    async with asyncio.TaskGroup() as group:
        group.create_task(call.run())
        await asyncio.sleep(0.1)
        call._perform(RunTool("r1", "lookup", {}, "", 5.0))
        call._perform(RunTool("r2", "book", {}, "k1", 5.0))
        await asyncio.sleep(0.1)
        begun = {"name": "book", "key": "k1", "state": "begun", "arguments": {}}
        assert log.of("deed") == [begun]
        call.post(CallerGone("done"))
    assert log.of("call_ended")
    over = {"name": "book", "key": "k1", "state": "over", "outcome": outcome}
    assert log.of("deed")[1:] == [over]
