"""Tools that fail in every way, beside a neighbour's call: real threads, processes and sockets.

The neighbour goes on being heard; each faulty call hears a word within two seconds and goes on; its
log has one `fault` that names the tool, and nothing is left behind.
An HTTP tool raises and blocks nothing here: its server answers wrongly, late, without end or not
at all.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from gateway.agents.loading import load
from gateway.agents.servers import ToolServers
from gateway.backends.cascade.ports import (
    LanguageModel,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolDelta,
)
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.plumbing.fence import fenced_task
from gateway.process.serve import SWITCH_INTERVAL
from gateway.tools.isolated import IsolatedTool
from gateway.tools.store import Store
from gateway.tools.toolbox import Toolbox
from media.playout import Chunk
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import ClauseTones, LevelRecogniser, Sentences
from tests.support.faulty_tools import ENDS, MCP, TOOLS
from tests.support.http_server import Exchange, HttpServer

pytestmark = [pytest.mark.real_time, pytest.mark.wide]

WITHIN = 2.0
"""Seconds within which the caller hears a word."""

LATE = 1.0
"""Seconds: each of these faults would keep the loop for longer if it ran there. What is less may
be the machine's; lateness by milliseconds is judged in virtual time, where there is none."""

FRAME_SECONDS = 0.02

ANSWER = "We are open all day."

KEPT = 12
"""Descriptors of loops in which tools run, which are kept for the next call."""

LONG = ConversationSettings(lines=FixedLines(greeting="one two three four five " * 20))

PYTHON = {
    "raise": "raises",
    "base": "base",
    "close": "leaves",
    "hang": "hangs",
    "block": "blocks",
    "block the loop": "blocks_loop",
    "huge": "huge",
    "flood": "floods",
    "garbage": "garbage",
    "disk": "disk",
}
MCP_KINDS = ("raise", "base", "close", "hang", "block", "huge", "flood", "garbage", "disorder")
HTTP = ("raise", "close", "hang", "huge", "flood", "garbage", "disorder")


async def web(exchange: Exchange) -> None:
    """Be the server of an HTTP tool, which fails as its path says."""
    match exchange.request.path.strip("/").partition("?")[0]:
        case "raise":
            await exchange.answer(500, b"oh no")
        case "close":
            exchange.cut()
        case "hang":
            await asyncio.Event().wait()
        case "huge":
            await exchange.answer(200, b"x" * 4_000_000)
        case "flood":
            await exchange.begin(200, "application/json")
            while True:
                await exchange.send(b" " * 1000)
        case "garbage":
            await exchange.answer(200, b"\xff\xfe{]", {"content-type": "application/json"})
        case _:
            exchange._writer.write(b"0\r\n\r\nHTTP/2 {}\r\n\r\n")
            exchange.cut()


class Asks(LanguageModel):
    """A model that asks for a tool, and says something once it is told what came of it."""

    def __init__(self, tool: str) -> None:
        self._tool = tool

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if any(entry.role == "tool_result" for entry in request.history):
            yield TextDelta(ANSWER)
        else:
            yield ToolDelta("a1", self._tool, {})

    def elsewhere(self) -> LanguageModel:
        return self


class Cell:
    """One call whose tool fails in one way."""

    def __init__(
        self, folder: Path, kind: str, entry: str, servers: ToolServers | None = None
    ) -> None:
        self.kind = kind
        self._servers = servers
        path = folder / f"{kind.replace(' ', '_')}.toml"
        path.write_text(f"[[tools]]\n{entry}\n")
        self._agent = load(path)
        self._folder = folder
        self.heard = 0.0

    async def open(self) -> None:
        """Open the tools to the call, as its beginning does, and wait for a process of theirs."""
        if self._servers is not None:
            self._agent = await self._servers.complete(self._agent)
        (spec,) = self._agent.specs
        self.box = Toolbox(self._agent.tools, Store(self._folder / "store.sqlite"))
        sentences = Sentences()
        settings = ConversationSettings(
            tools=(spec,), drafts=False, lines=FixedLines(greeting="Hello.")
        )
        parts = Parts(LevelRecogniser(sentences), Asks(spec.name), ClauseTones())
        self.caller = Caller(parts, sentences, settings, self.kind)
        began = datetime.now(ZoneInfo("UTC"))
        context = self._agent.context(self.caller.leg.info, began)
        self.caller.call._tools._toolbox = self.box.open(context)
        for tool in self.box.tools.values():
            if isinstance(tool, IsolatedTool):
                await tool.process._running()

    async def hold(self) -> None:
        """Hold the call."""
        await self.caller.run(self._story)

    async def _story(self, caller: Caller) -> None:
        await caller.hears()
        await caller.says("When do you open?", 0.3, draft=None, ends=0.1)
        since = caller.now()
        await caller.sound()
        self.heard = caller.now() - since
        for _ in range(200):
            if ANSWER in self._said():
                return
            await asyncio.sleep(0.1)

    def _said(self) -> list[str]:
        return [each["text"] for each in self.caller.log.of("agent_spoke")]

    def problems(self, answers: bool) -> list[str]:
        """Say what does not hold."""
        log = self.caller.log
        named = [fault["part"] for fault in log.of("fault")]
        well = named == ["tool"] or (answers and not named)
        found = [] if well else [f"{self.kind}: faults {named}"]
        found += [] if self.heard < WITHIN else [f"{self.kind}: heard after {self.heard:.2f}"]
        found += [] if ANSWER in self._said() else [f"{self.kind}: said {self._said()}"]
        found += [] if len(log.of("call_ended")) == 1 else [f"{self.kind}: no end"]
        return found


class Neighbour:
    """A call beside them, which hears a long sentence."""

    def __init__(self) -> None:
        sentences = Sentences()
        parts = Parts(LevelRecogniser(sentences), Asks(""), ClauseTones())
        self.caller = Caller(parts, sentences, LONG, "neighbour")
        self.caller.leg.send = self._sent  # type: ignore[method-assign]
        self._times: list[tuple[float, float]] = []

    def _sent(self, chunks: Sequence[Chunk]) -> None:
        if chunks:
            self._times.append((asyncio.get_running_loop().time(), kept_waiting()))

    async def hold(self, until: asyncio.Event) -> None:
        """Hold the call until the others are over."""
        await self.caller.run(lambda caller: _waits(until))

    def late(self) -> list[float]:
        """Return by how much frames were late, but for what the machine kept this process from."""
        return [
            over
            for (before, kept), (later, kept_since) in pairwise(self._times)
            if (over := later - before - FRAME_SECONDS - (kept_since - kept)) > LATE
        ]

    @property
    def seconds(self) -> float:
        """What was heard."""
        return len(self._times) * FRAME_SECONDS


async def _waits(until: asyncio.Event) -> None:
    await until.wait()


def kept_waiting() -> float:
    """Return for how long threads of this process were ready and had no processor (proc(5))."""
    waited = 0
    for task in os.listdir("/proc/self/task"):
        try:
            waited += int(Path(f"/proc/self/task/{task}/schedstat").read_bytes().split()[1])
        except OSError:
            continue  # it has ended meanwhile
    return waited / 1e9


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def together(
    cells: list[Cell], answers: set[str], servers: asyncio.Task[None] | None = None
) -> None:
    """Hold all, and judge them; `answers` are kinds that may be cut and told to the model.

    `servers` keeps servers of tools connected until all is over.
    """
    loop = asyncio.get_running_loop()
    loop.set_task_factory(fenced_task)
    neighbour, over, files = Neighbour(), asyncio.Event(), open_files()
    sys.setswitchinterval(SWITCH_INTERVAL)  # as the gateway does
    with capture_logs():
        for cell in cells:
            await cell.open()
        async with asyncio.TaskGroup() as group:
            group.create_task(neighbour.hold(over))
            await asyncio.sleep(0.5)
            async with asyncio.TaskGroup() as faulty:
                for cell in cells:
                    faulty.create_task(cell.hold())
                    await asyncio.sleep(0.05)
            over.set()
        for cell in cells:
            await cell.box.close()
        if servers is not None:
            servers.cancel()
            await asyncio.wait([servers])
    assert open_files() - files <= KEPT
    found = [each for cell in cells for each in cell.problems(cell.kind in answers)]
    assert found == []
    assert neighbour.seconds > 2.0
    assert not neighbour.caller.log.of("fault")
    assert neighbour.late() == []


async def test_python_tools(tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text(TOOLS)
    cells = [
        Cell(tmp_path, kind, f'python = "faulty.py:{name}"\ntimeout = 1.5')
        for kind, name in PYTHON.items()
    ]
    await together(cells, {"huge", "flood"})


async def test_isolated_tools(tmp_path: Path) -> None:
    cells = []
    for kind, name in {**PYTHON, "end": "ends", "keep": "keeps"}.items():
        file = f"{kind.replace(' ', '_')}_.py"
        (tmp_path / file).write_text(TOOLS + ENDS)
        entry = f'python = "{file}:{name}"\nisolated = true\ntimeout = 1.5'
        cells.append(Cell(tmp_path, kind, entry))
    await together(cells, {"huge", "flood"})


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    server = HttpServer(web)
    async with server.serving():
        yield server.url


async def test_http_tools(tmp_path: Path) -> None:
    async with served() as url:
        cells = [
            Cell(
                tmp_path,
                kind,
                'name = "web"\ndescription = "Look something up."\ntimeout = 1.5\n'
                f'[tools.http]\nurl = "{url}/{kind}"',
            )
            for kind in HTTP
        ]
        await together(cells, {"garbage"})


async def test_mcp_tools(tmp_path: Path) -> None:
    cells, servers = [], ToolServers()
    async with asyncio.TaskGroup() as group:
        connected = group.create_task(servers.run())
        await asyncio.sleep(0)
        for kind in MCP_KINDS:
            program = tmp_path / f"{kind}_server.py"
            program.write_text(f"KIND = {kind!r}\n{MCP}")
            entry = 'mcp = "shop"\nname = "look"\ntimeout = 1.5\n'
            entry += f'[servers.shop]\ncommand = ["{sys.executable}", "{program}"]'
            cells.append(Cell(tmp_path, kind, entry, servers))
        await together(cells, {"raise", "huge", "flood", "disorder"}, connected)
