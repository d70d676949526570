"""Keeps agents as their files are: looks at the files, and reads what changed, off the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from gateway.agents.library import AgentLibrary
from gateway.agents.loading import Agent
from gateway.agents.places import AgentError
from gateway.tools.context import ToolFailed
from gateway.tools.threads import in_thread

LOOK_SECONDS = 1.0
"""How often files are looked at: an edit is in use by the time somebody can have dialled."""

READ_SECONDS = 30.0
"""How long an agent may take to read before that is told; its imports run an operator's code."""

log = structlog.get_logger("crew")


class Reading:
    """Looks at a library's files; whoever takes the agents is told of each that changed."""

    def __init__(
        self,
        library: AgentLibrary,
        read: Callable[[str, Agent | None], None],
        wanted: asyncio.Event,
    ) -> None:
        """`read` is told of an agent that is new or changed, and with None of one that is gone;
        `wanted` asks for a look at once."""
        self._library = library
        self._read = read
        self._under_way: set[str] = set()
        "names whose files are being read; one that hangs is not begun again"
        self._known: set[str] = set()
        self._wanted = wanted

    async def run(self) -> None:
        """Look again and again until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._wanted.clear()
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._wanted.wait()
                except TimeoutError:
                    pass
                for name in await self._changed():
                    group.create_task(self._one(name))

    async def look(self) -> None:
        """Look once, and wait for what is read, but for no agent longer than is told."""
        changed = await self._changed()
        async with asyncio.TaskGroup() as group:
            for name in changed:
                group.create_task(self._soon(name))

    async def _soon(self, name: str) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self._one(name)
        except TimeoutError:
            self._tell_slow(name)

    async def _changed(self) -> list[str]:
        try:
            names, changed = await in_thread(self._library.changed)
        except (OSError, KeyError, ToolFailed) as error:  # a file that goes while it is looked at
            log.warning("agents_not_looked_at", error=str(error))
            return []
        for gone in self._known - names:
            self._read(gone, None)
        self._known = names
        return sorted(changed - self._under_way)

    async def _one(self, name: str) -> None:
        """Read one agent, however long that takes; what is wrong with it the library reports.

        One that is given up is not begun again: its thread may hang for good.
        """
        self._under_way.add(name)
        loop = asyncio.get_running_loop()
        telling = loop.call_later(READ_SECONDS, self._tell_slow, name)
        try:
            agent = await in_thread(self._library.get, name)
        except (AgentError, KeyError, ToolFailed) as error:
            log.info("agent_not_read", agent=name, error=type(error).__name__)
        else:
            self._read(name, agent)
        finally:
            telling.cancel()
        self._under_way.discard(name)

    def _tell_slow(self, name: str) -> None:
        log.error("agent_not_read", agent=name, error=f"still not read after {READ_SECONDS:.0f} s")
