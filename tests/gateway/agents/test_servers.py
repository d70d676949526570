"""Agents with MCP servers: they get their tools, and share what they share."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
import structlog

from gateway.agents.loading import load
from gateway.agents.places import AgentError
from gateway.agents.servers import ToolServers
from gateway.tools.endpoints import HttpEndpoint, McpServer

T = TypeVar("T")

SHOP = """
from mcp.server import MCPServer
server = MCPServer("shop")

@server.tool()
def price(part: str) -> int:
    return len(part)

@server.tool()
def order(part: str) -> str:
    return part

server.run("stdio")
"""

AGENT = """
[[tools]]
mcp = "shop"
name = "price"
effect = "read"

[[tools]]
builtin = "hang_up"

[servers.shop]
command = ["%s", "%s"]
"""


@asynccontextmanager
async def running() -> AsyncIterator[ToolServers]:
    servers = ToolServers()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(servers.run())
        await asyncio.sleep(0)
        yield servers
        task.cancel()


@pytest.mark.real_time
async def test_an_agent_gets_the_tools_it_names_and_a_second_one_shares_the_server(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    text = AGENT % (sys.executable, tmp_path / "shop.py")
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(text)

    async with running() as servers:
        agents = [await servers.complete(load(tmp_path / f"{n}.toml")) for n in ("one", "two")]
        assert len(servers._connections) == 1
    assert [[spec.name for spec in agent.specs] for agent in agents] == [["price", "hang_up"]] * 2


@pytest.mark.real_time
async def test_a_server_that_does_not_come_is_the_operators_to_mend(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(AGENT % (sys.executable, "-c 'raise SystemExit'"))

    async with running() as servers:
        with pytest.raises(AgentError, match=r"one.toml:2:3: tools\[0\]: the tool server shop"):
            await servers.complete(load(path), seconds=0.1)


async def test_an_agent_without_servers_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text("")
    agent = load(path)
    async with running() as servers:
        assert await servers.complete(agent) is agent


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "Cookie", "Private-Token"])
def test_a_secret_header_in_the_file_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(ValueError, match=f"headers.{name}: a secret has no place") as refused:
        HttpEndpoint("https://shop.example.com", headers={name: "hunter2"})
    assert "hunter2" not in str(refused.value)
    with pytest.raises(ValueError, match=name):
        McpServer(url="https://shop.example.com", headers={name: "Bearer hunter2"})
    HttpEndpoint("https://shop.example.com", headers={name: "Bearer $SHOP", "Accept": "a/b"})


LATE = """
import sys, pathlib
print("good morning", file=sys.stderr, flush=True)
if not pathlib.Path("open").exists():
    sys.exit("closed for now")
"""


@pytest.mark.real_time
async def test_a_server_that_comes_later_gives_its_tools_when_it_does(tmp_path: Path) -> None:
    """Its command is relative to the agent's file, and what it says has a field of its own."""
    (tmp_path / "shop.py").write_text(LATE + SHOP)
    (tmp_path / "other.py").write_text(SHOP.replace("price", "stock").replace("order", "refill"))
    path = tmp_path / "one.toml"
    path.write_text(
        '[[tools]]\nmcp = "shop"\n[[tools]]\nmcp = "other"\n'
        f'[servers.shop]\ncommand = ["{sys.executable}", "shop.py"]\n'
        f'[servers.other]\ncommand = ["{sys.executable}", "other.py"]\n'
    )
    agent = load(path)
    servers = ToolServers()
    with structlog.testing.capture_logs() as logs:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(servers.run())
            await asyncio.sleep(0)
            await servers.those_there(agent, seconds=0.0)
            await servers.come(agent, "other")
            there, missing = await servers.those_there(agent, seconds=0.0)
            assert sorted(spec.name for spec in there.specs) == ["refill", "stock"]
            assert list(missing) == ["shop"]
            (tmp_path / "open").touch()
            await servers.come(agent, "shop")
            there, missing = await servers.those_there(agent, seconds=0.0)
            found = sorted(spec.name for spec in there.specs)
            assert (found, missing) == (["order", "price", "refill", "stock"], {})
            task.cancel()
    told = {(each["server"], each["said"]) for each in logs if "said" in each}
    assert ("shop", "good morning") in told
