"""Tools of MCP servers, through the protocol's own SDK.

A connection lives in one task of the process, which opens it again when it is lost; the tools it
listed first are the ones an agent has, so that the head of the prompt stays the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2  # what the SDK itself speaks HTTP with
import structlog
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.stdio import get_default_environment, stdio_client
from mcp.client.streamable_http import streamable_http_client

from gateway.events import Json
from gateway.plumbing.fence import is_stop
from gateway.plumbing.measured_http import AnswerBounds, measured
from gateway.plumbing.meter import Measure
from gateway.plumbing.wire_json import clean
from gateway.ports import ToolSpec
from gateway.tools.bounds import cut
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.endpoints import McpServer, taken_from_environment, with_secrets
from gateway.tools.ledger import entered
from gateway.tools.said import Said
from gateway.tools.store import Store
from inference.errors import as_error, in_words

FIRST_PAUSE = 0.5
"""Seconds before a lost connection is opened again; they double up to `LONGEST_PAUSE`."""

LONGEST_PAUSE = 30.0

CONNECT_SECONDS = 10.0
"""How long a server may take to start and say what it can do."""

CALL_SECONDS = 60.0
"""The longest a call may take; a read is given up by its own, shorter time before that."""

NEVER_BEGAN = frozenset(
    (types.PARSE_ERROR, types.INVALID_REQUEST, types.METHOD_NOT_FOUND, types.INVALID_PARAMS)
)
"""Errors of JSON-RPC that say that a request was not understood; after any other a write may have
been done."""

ANSWER = AnswerBounds(4_000_000, Measure(1_000_000, 500_000))
"""Bytes of an answer, or of a stream of notices until it is opened again; a model on the telephone
can use a few hundred of them."""

KEY = "parley/idempotencyKey"
"""Where in a request's metadata a write has its key."""

log = structlog.get_logger("tools")


class McpConnection:
    """One server; `run` keeps it connected for as long as the process lives."""

    def __init__(
        self,
        name: str,
        server: McpServer,
        endpoint: Callable[[], Any] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Know a server; `endpoint` makes what the SDK connects to, where it is not in the file;
        a program runs in `folder`."""
        self.name = name
        self._said = Said(name)
        self._endpoint = endpoint or _endpoint(server, folder, self._said)
        self._client: Client | None = None
        self._listed: tuple[types.Tool, ...] | None = None
        self._failed = ""
        self._up = asyncio.Event()
        self._lost = asyncio.Event()

    async def run(self) -> None:
        """Stay connected until cancelled."""
        pause = FIRST_PAUSE
        while True:
            self._lost.clear()
            try:
                async with asyncio.timeout(CONNECT_SECONDS) as patience:
                    async with Client(
                        self._endpoint(), read_timeout_seconds=CALL_SECONDS
                    ) as client:
                        listed = await _list(client)
                        patience.reschedule(None)
                        pause = FIRST_PAUSE
                        self._opened(client, listed)
                        await self._lost.wait()
            except BaseException as error:  # fence: a server may fail in any way; it is tried again
                if is_stop(error):
                    raise
                self._failed = f": {in_words(as_error(error))}"
                log.warning("tool server failed", server=self.name, error=repr(error))
            finally:
                self._down()
                self._said.close()
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def tools(
        self,
        wanted: str = "",
        change: Callable[[ToolSpec], ToolSpec] = lambda spec: spec,
        seconds: float = CONNECT_SECONDS,
    ) -> dict[str, McpTool]:
        """Wait for the server and give its tools, or the one that is wanted.

        `change` puts in what an agent's file says otherwise of each.
        Raise ToolFailed where the server does not come or has no such tool.
        """
        if not self._up.is_set():
            try:
                async with asyncio.timeout(seconds):
                    await self.up()
            except TimeoutError:
                said = f"the tool server {self.name} did not come{self._failed}"
                raise ToolFailed("unreachable", said) from None
        assert self._listed is not None
        chosen = [tool for tool in self._listed if wanted in ("", tool.name)]
        if not chosen:
            raise ToolFailed("no_such_tool", f"{self.name} has no tool named {wanted}")
        return {tool.name: McpTool(change(_spec(tool)), self) for tool in chosen}

    async def up(self) -> None:
        """Wait until the server is there."""
        await self._up.wait()

    async def call(self, name: str, arguments: Json, meta: Mapping[str, Any]) -> Json:
        """Use a tool; raise ToolFailed, or OSError when the connection broke meanwhile."""
        client = self._client
        if client is None:
            raise ToolFailed("unreachable", f"The tool server {self.name} is away.")
        try:
            result = await client.call_tool(name, dict(arguments), meta=dict(meta) or None)  # type: ignore[arg-type]
        except MCPError as error:
            if error.code in NEVER_BEGAN:
                raise ToolFailed("refused", str(error)[:300]) from None
            if error.code == types.CONNECTION_CLOSED:
                self._down()
            raise ConnectionError(str(error)) from None
        return _answer(result)

    def _opened(self, client: Client, listed: tuple[types.Tool, ...]) -> None:
        self._client = client
        if self._listed is None:
            self._listed = listed
        self._up.set()
        log.info("tool server ready", server=self.name, tools=len(listed))

    def _down(self) -> None:
        self._client = None
        self._up.clear()
        self._lost.set()


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool of a server."""

    spec: ToolSpec
    connection: McpConnection

    def expect(self) -> None:
        """Return at once: it is ready."""

    async def run(self, arguments: Json, context: ToolContext, store: Store) -> Json:
        """Use it; a write is begun once, and what may have happened is not tried again."""
        name, key = self.spec.name, context.key
        if self.spec.effect == "read":
            try:
                return await self.connection.call(name, arguments, {})
            except OSError:
                raise ToolFailed("unreachable", "The tool server is away.") from None
        return await entered(name, arguments, context, store, lambda: self._write(arguments, key))

    async def _write(self, arguments: Json, key: str) -> Json:
        try:
            return await self.connection.call(self.spec.name, arguments, {KEY: key})
        except OSError:
            raise Uncertain from None

    async def close(self) -> None:
        """Return at once: the connection is the server's, and outlives an agent's file."""


def _endpoint(server: McpServer, folder: Path | None, said: Said) -> Callable[[], Any]:
    if server.command:
        program, *arguments = server.command
        environment = get_default_environment() | taken_from_environment(server.environment)
        run = StdioServerParameters(
            command=program, args=list(arguments), env=environment, cwd=folder
        )
        return lambda: stdio_client(run, said.open())
    headers = with_secrets(server.headers)
    return lambda: streamable_http_client(
        server.url, http_client=httpx2.AsyncClient(headers=headers, event_hooks=measured(ANSWER))
    )


async def _list(client: Client) -> tuple[types.Tool, ...]:
    found: list[types.Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tuple(found)


def _spec(tool: types.Tool) -> ToolSpec:
    """Describe a tool; one that does not say that it only reads is taken for a write."""
    reads = tool.annotations is not None and bool(tool.annotations.read_only_hint)
    description = tool.description or tool.title or tool.name
    return ToolSpec(tool.name, description, tool.input_schema, "read" if reads else "write")


def _answer(result: types.CallToolResult) -> Json:
    text = "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))
    if result.is_error:
        raise ToolFailed("failed", text[:300])
    if isinstance(result.structured_content, dict):
        return cut(dict(clean(result.structured_content)))
    return cut({"result": clean(text)})
