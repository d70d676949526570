"""How a call's tools are run: reads at once, writes one after the other and to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from gateway.call.conversation.vocabulary import Event
from gateway.events import RunTool, ToolAnswered
from gateway.log_events import DeedLogged, LogEvent


class Toolbox(Protocol):
    """Where tools are run."""

    async def run(self, effect: RunTool) -> ToolAnswered:
        """Run one tool to its end; never raises for what the tool does."""


class ToolRuns:
    """Runs what the conversation asks for; what came of it is an event."""

    def __init__(
        self, toolbox: Toolbox, write: Callable[[LogEvent], None], post: Callable[[Event], None]
    ) -> None:
        self._toolbox = toolbox
        self._log = write
        self._post = post
        self._writing = asyncio.Lock()

    async def run(self, effect: RunTool) -> None:
        """Run one tool and post its answer."""
        if not effect.key:
            self._post(await self._toolbox.run(effect))
            return
        async with self._writing:  # in the order they were asked, also when the call is over
            answered = await self._write(effect)
        self._post(answered)

    async def _write(self, effect: RunTool) -> ToolAnswered:
        """Run a write; it is told by itself, since it may go on when nobody waits for it."""
        name, key = effect.name, effect.key
        self._log(DeedLogged(name=name, key=key, state="begun", arguments=effect.arguments))
        answered: ToolAnswered | None = None
        try:
            answered = await self._toolbox.run(effect)
        finally:
            outcome = "unknown" if answered is None else answered.outcome
            code = None if answered is None else answered.result.get("error")
            told = None if code is None else str(code)
            self._log(DeedLogged(name=name, key=key, state="over", outcome=outcome, code=told))
        return answered
