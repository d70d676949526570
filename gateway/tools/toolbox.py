"""Runs tools for calls: whatever happens in one comes back as an answer, never as an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from gateway.events import Json, Outcome, RunTool, ToolAnswered
from gateway.plumbing.fence import is_stop
from gateway.ports import ToolSpec
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.store import Store

log = structlog.get_logger("tools")


class Tool(Protocol):
    """Something that can be run for a model."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told of it."""

    def expect(self) -> None:
        """Make ready to be run soon: a call begins. Returns at once."""

    async def run(self, arguments: Json, context: ToolContext, store: Store) -> Json:
        """Do it; raise ToolFailed, OSError or TimeoutError when it cannot be done.

        A write is done at most once for `context.key`.
        """

    async def close(self) -> None:
        """Let go of what it keeps open, if it keeps anything."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one agent, for any number of calls."""

    tools: Mapping[str, Tool]
    store: Store

    async def close(self) -> None:
        """Let go of what the tools keep open."""
        for tool in self.tools.values():
            await tool.close()

    def open(self, context: ToolContext) -> CallTools:
        """Return the tools to a call."""
        for tool in self.tools.values():
            tool.expect()
        return CallTools(self, context)


@dataclass(frozen=True, slots=True)
class CallTools:
    """The tools of one call."""

    toolbox: Toolbox
    context: ToolContext

    async def run(self, effect: RunTool) -> ToolAnswered:
        """Run one tool to its end; cancelling stops a read and leaves a write to its thread."""
        result, outcome = await self._outcome(effect)
        return ToolAnswered(effect.ask, result, outcome)

    async def _outcome(self, effect: RunTool) -> tuple[Json, Outcome]:
        tool = self.toolbox.tools.get(effect.name)
        if tool is None:
            return {"error": "no_such_tool"}, "refused"
        # The desk answers for a write that is late; here only a read is given up.
        limit = effect.timeout if tool.spec.effect == "read" else None
        context = replace(self.context, key=effect.key)
        try:
            async with asyncio.timeout(limit):
                return await tool.run(effect.arguments, context, self.toolbox.store), "done"
        except ToolFailed as failed:
            told = {"error": failed.code, "message": failed.message}
            return told, "uncertain" if isinstance(failed, Uncertain) else "failed"
        except TimeoutError:
            return {"error": "timeout", "message": "This took too long."}, "timeout"
        except BaseException as raised:  # fence: a broken tool is an answer
            if is_stop(raised):
                raise
            # Not its words: they may hold what the caller said.
            call, kind = self.context.call.call_id, type(raised).__name__
            log.warning("tool_broke", call_id=call, tool=effect.name, error=kind)
            return {"error": "broken", "message": "This is not working right now."}, "failed"
