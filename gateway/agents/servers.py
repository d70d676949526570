"""The MCP servers of all agents: connected once each, for as long as the process lives."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from gateway.agents.format import ToolEntry
from gateway.agents.loading import Agent, as_wished
from gateway.agents.places import AgentError, placed
from gateway.plumbing.toml_file import Mistake, TomlError
from gateway.ports import ToolSpec
from gateway.tools.checking import wrong
from gateway.tools.context import ToolFailed
from gateway.tools.endpoints import McpServer
from gateway.tools.mcp import CONNECT_SECONDS, McpConnection
from gateway.tools.toolbox import Tool


class ToolServers:
    """Opens connections when agents first want them; agents that name the same server share it."""

    def __init__(self) -> None:
        self._connections: dict[str, McpConnection] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Hold the connections until cancelled; to be running before `complete` is called."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for connection in self._connections.values():
                    group.create_task(connection.run())
                await asyncio.Event().wait()
        finally:
            self._group = None

    async def complete(self, agent: Agent, seconds: float = CONNECT_SECONDS) -> Agent:
        """Return an agent the tools of its servers; raise AgentError where one does not come."""
        whole, missing = await self.those_there(agent, seconds)
        for error in missing.values():
            raise error
        return whole

    async def those_there(
        self, agent: Agent, seconds: float = CONNECT_SECONDS
    ) -> tuple[Agent, dict[str, AgentError]]:
        """Return an agent the tools of the servers that come in time, and what is wrong with the
        others, by their names."""
        found: dict[str, Tool] = {}
        missing: dict[str, AgentError] = {}
        for at, entry in enumerate(agent.file.tools):
            if not entry.mcp:
                continue
            where = f"tools[{at}]"
            try:
                connection = self._of(agent, entry.mcp)
                change = partial(_wished, entry=entry, agent=agent, others=found)
                wait = 0.0 if entry.mcp in missing else seconds
                found |= await connection.tools(entry.name, change, wait)
            except (ToolFailed, ValueError) as error:
                mistakes = (Mistake(where, agent.source.line(where), str(error)),)
                missing[entry.mcp] = placed(agent.path, TomlError(agent.source.name, mistakes))
        return agent.with_tools(found), missing

    async def come(self, agent: Agent, server: str) -> None:
        """Wait until a server of an agent is there, however long that takes."""
        await self._of(agent, server).up()

    def _of(self, agent: Agent, server: str) -> McpConnection:
        return self._connection(server, agent.file.servers[server], agent.path.resolve().parent)

    def _connection(self, name: str, server: McpServer, folder: Path) -> McpConnection:
        key = f"{server!r} in {folder if server.command else ''}"
        known = self._connections.get(key)
        if known is None:
            known = self._connections[key] = McpConnection(name, server, folder=folder)
            if self._group is not None:
                self._group.create_task(known.run())
        return known


def _wished(spec: ToolSpec, entry: ToolEntry, agent: Agent, others: Mapping[str, Tool]) -> ToolSpec:
    """Change a tool as the agent's file wishes; raise ValueError for what is wrong with it."""
    wished = as_wished(spec, entry)
    for _, said in wrong(wished, agent.file.language):
        raise ValueError(f"{wished.name}: {said}")
    if wished.name in {own.name for own in agent.specs} | others.keys():
        raise ValueError(f'there is another tool named "{wished.name}"')
    return wished
