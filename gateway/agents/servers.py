"""The MCP servers of all agents: connected once each, for as long as the process lives."""

from __future__ import annotations

import asyncio
from functools import partial

from gateway.agents.format import ToolEntry
from gateway.agents.loading import Agent, as_wished
from gateway.agents.places import placed
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
        """Give an agent the tools of its servers; raise AgentError where one does not come."""
        found: dict[str, Tool] = {}
        for at, entry in enumerate(agent.file.tools):
            if not entry.mcp:
                continue
            where = f"tools[{at}]"
            try:
                connection = self._connection(entry.mcp, agent.file.servers[entry.mcp])
                change = partial(_wished, entry=entry, agent=agent)
                found |= await connection.tools(entry.name, change, seconds)
            except (ToolFailed, ValueError) as error:
                mistakes = (Mistake(where, agent.source.line(where), str(error)),)
                raise placed(agent.path, TomlError(agent.source.name, mistakes)) from None
        return agent.with_tools(found)

    def _connection(self, name: str, server: McpServer) -> McpConnection:
        known = self._connections.get(repr(server))
        if known is None:
            known = self._connections[repr(server)] = McpConnection(name, server)
            if self._group is not None:
                self._group.create_task(known.run())
        return known


def _wished(spec: ToolSpec, entry: ToolEntry, agent: Agent) -> ToolSpec:
    """Change a tool as the agent's file wishes; raise ValueError for what is wrong with it."""
    wished = as_wished(spec, entry)
    for _, said in wrong(wished, agent.file.language):
        raise ValueError(f"{wished.name}: {said}")
    if wished.name in {own.name for own in agent.specs}:
        raise ValueError(f'there is another tool named "{wished.name}"')
    return wished
