"""What a backend is told when it is opened follows what it can do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.call.answering import Answering
from gateway.events import CallInfo
from gateway.ports import BackendStart, BackendTraits
from tests.support.cascade_call import Silent
from tests.support.playbook import BOOK


class Told(Silent):
    """Keeps what it is told at the start."""

    def __init__(self, *, tools: bool) -> None:
        self.traits = BackendTraits(tools=tools)
        self.starts: list[BackendStart] = []

    async def run(self, start: BackendStart, emit: Any) -> None:
        self.starts.append(start)


@pytest.mark.parametrize("tools", [True, False])
async def test_a_model_that_can_ask_for_no_tools_is_told_of_none(tools: bool) -> None:
    """Such as a bridge's with `tools = false`: the name of a tool would only mislead it."""
    backend = Told(tools=tools)
    start = BackendStart(CallInfo("c1", "test", "agent"), "Be kind.", (BOOK,))
    answering = Answering(lambda name: backend, lambda: start, lambda event: None, keeps=False)
    async with asyncio.TaskGroup() as group:
        answering.begin(group)
    (told,) = backend.starts
    assert told.tools == ((BOOK,) if tools else ())
