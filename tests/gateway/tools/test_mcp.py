"""Tools of MCP servers, against servers made with the protocol's own SDK."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from mcp import types
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from gateway.agents.format import ToolEntry
from gateway.agents.loading import as_wished
from gateway.events import CallInfo
from gateway.tools.context import ToolContext, ToolFailed
from gateway.tools.endpoints import McpServer
from gateway.tools.mcp import McpConnection
from gateway.tools.store import Store

CONTEXT = ToolContext(CallInfo("c1", "test", "a"), datetime(2025, 12, 2, tzinfo=UTC), key="k1")
T = TypeVar("T")


class Shop:
    """A server of tools that remembers what it was asked."""

    def __init__(self) -> None:
        self.orders: list[str] = []
        self.server = MCPServer("shop")

        @self.server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
        def price(part: str) -> dict[str, int]:
            """Say what a part costs."""
            return {"price": len(part)}

        @self.server.tool()
        def order(part: str) -> str:
            """Order a part."""
            self.orders.append(part)
            return f"ordered {part}"

        @self.server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
        def broken() -> str:
            raise ToolError("no stock list")


@asynccontextmanager
async def connected(shop: Shop) -> AsyncIterator[McpConnection]:
    """Connect to a shop in this process."""
    connection = McpConnection("shop", McpServer(url="in-process"), lambda: shop.server)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(connection.run())
        yield connection
        task.cancel()


async def test_tools_are_listed_with_their_effects_and_the_agents_wishes() -> None:
    entry = ToolEntry(mcp="shop", confirm=True, timeout=3, filler="Ordering.")
    async with connected(Shop()) as connection:
        one = await connection.tools("order", partial(as_wished, entry=entry))
        tools = await connection.tools() | {"one": one["order"]}
    assert sorted(tools) == ["broken", "one", "order", "price"]
    assert tools["price"].spec.effect == "read"
    assert tools["price"].spec.description == "Say what a part costs."
    assert tools["price"].spec.parameters["required"] == ["part"]
    assert tools["order"].spec.effect == "write"  # it does not say that it only reads
    assert (tools["one"].spec.confirm, tools["one"].spec.timeout) == (True, 3)


async def test_a_read_answers_and_a_write_is_done_once(tmp_path: Path) -> None:
    shop, store = Shop(), Store(tmp_path / "m.sqlite")
    async with connected(shop) as connection:
        tools = await connection.tools()
        price = await tools["price"].run({"part": "bolt"}, CONTEXT, store)
        first = await tools["order"].run({"part": "bolt"}, CONTEXT, store)
        second = await tools["order"].run({"part": "bolt"}, CONTEXT, store)
    assert price == {"price": 4}
    assert first == {"result": "ordered bolt"}
    assert second == {"result": "ordered bolt", "repeated": True}
    assert shop.orders == ["bolt"]


async def test_a_tool_that_fails_and_one_that_is_not_there(tmp_path: Path) -> None:
    async with connected(Shop()) as connection:
        tools = await connection.tools()
        with pytest.raises(ToolFailed, match="no stock list"):
            await tools["broken"].run({}, CONTEXT, Store(tmp_path / "m.sqlite"))
        with pytest.raises(ToolFailed, match="no tool named nothing"):
            await connection.tools("nothing")


@pytest.mark.real_time
async def test_a_server_that_does_not_come_is_said_so() -> None:
    connection = McpConnection("shop", McpServer(command=("nothing",)))
    with pytest.raises(ToolFailed, match="shop did not come"):
        await connection.tools(seconds=0.01)
    with pytest.raises(ToolFailed, match="shop is away"):
        await connection.call("price", {}, {})


PROGRAM = """
import os
from mcp.server import MCPServer
server = MCPServer("shop")

@server.tool()
def count() -> int:
    return os.getpid()

@server.tool()
def crash() -> None:
    os._exit(1)

server.run("stdio")
"""


@pytest.mark.real_time
async def test_a_program_that_dies_is_started_again(tmp_path: Path) -> None:
    program = tmp_path / "shop.py"
    program.write_text(PROGRAM)
    store = Store(tmp_path / "m.sqlite")

    server = McpServer(command=(sys.executable, str(program)))
    connection = McpConnection("shop", server)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(connection.run())
        change = partial(as_wished, entry=ToolEntry(mcp="shop", effect="read"))
        tools = await connection.tools(change=change)
        first = await tools["count"].run({}, CONTEXT, store)
        with pytest.raises(ToolFailed) as failed:
            await tools["crash"].run({}, CONTEXT, store)
        assert failed.value.code == "unreachable"
        await connection.up()
        second = await tools["count"].run({}, CONTEXT, store)
        task.cancel()
    first, second = [first, second]
    assert first != second
