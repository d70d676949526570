"""Python tools in a process of their own: real processes, and what they may do to themselves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway.events import CallInfo
from gateway.tools import isolated
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.hours import OpeningHours
from gateway.tools.isolated import Home, IsolatedTool, ToolProcess
from gateway.tools.store import Store

TOOLS = '''
import asyncio, os, re, sqlite3, sys, time
from pathlib import Path
from gateway.tools.context import ToolContext, ToolFailed
from gateway.tools.functions import tool

def look(context: ToolContext, city: str, days: int = 3):
    """Look the weather up."""
    print("a line for whoever reads standard output")
    began = context.began
    return {"city": city, "days": days, "hour": began.hour, "zone": str(began.tzinfo)}

def known():
    """Say what is in the environment."""
    return dict(os.environ)

def who():
    """Say which process this is."""
    return os.getpid()

async def later(seconds: float):
    """Wait."""
    await asyncio.sleep(seconds)
    return "now"

def keeps(marker: str):
    """Keep the interpreter."""
    Path(marker).touch()
    re.match("(a+)+$", "a" * 60 + "b")

def refuses():
    """Say why not."""
    raise ToolFailed("taken", "That hour is taken.")

def raises():
    """Raise."""
    raise KeyboardInterrupt

@tool(effect="write")
def ends():
    """End the process."""
    os._exit(7)

@tool(effect="write")
def slow(marker: str):
    """Write, in its time."""
    time.sleep(0.3)
    Path(marker).touch()
    return "written"

@tool(effect="write")
def keep(store: sqlite3.Connection, what: str):
    """Keep something."""
    store.execute("create table if not exists kept (what text)")
    store.execute("insert into kept values (?)", (what,))
    return {"kept": store.execute("select count(*) from kept").fetchone()[0]}
'''


class Tools:
    """The functions of one file, in one process."""

    def __init__(self, folder: Path, **environment: str) -> None:
        path = folder / "shop.py"
        path.write_text(TOOLS)
        self.home = Home(str(path), folder, environment)
        self.process = ToolProcess(self.home)
        self.store = Store(folder / "store.sqlite")
        self.specs: dict[str, IsolatedTool] = {}

    async def run(self, name: str, key: str = "k", **arguments: object) -> object:
        if name not in self.specs:
            described = await asyncio.to_thread(self.home.describe, [name])
            spec = described[name].spec
            assert spec is not None
            self.specs[name] = IsolatedTool(spec, name, self.process)
        hours = OpeningHours("Europe/Berlin")
        began = datetime(2025, 12, 2, 9, tzinfo=ZoneInfo("Europe/Berlin"))
        context = ToolContext(CallInfo("c1", "test", "a"), began, hours, key=key)
        return await self.specs[name].run(arguments, context, self.store)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Tools]:
    made = Tools(folder, SHOP_TOKEN="open sesame")
    try:
        yield made
    finally:
        await made.process.close()


@pytest.mark.real_time
async def test_a_function_is_run_as_in_the_gateway_and_what_it_prints_disturbs_nothing(tmp_path):
    async with opened(tmp_path) as tools:
        found = await tools.run("look", city="Ulm")
        assert found == {"city": "Ulm", "days": 3, "hour": 9, "zone": "Europe/Berlin"}
        assert tools.specs["look"].spec.parameters["required"] == ["city"]
        with pytest.raises(ToolFailed, match="days"):
            await tools.run("look", city="Ulm", days="many")
        assert await tools.run("later", seconds=0.0) == {"result": "now"}


@pytest.mark.real_time
async def test_a_process_knows_the_variables_that_it_is_given_and_no_secret_of_the_gateways(
    tmp_path, monkeypatch
):
    async with opened(tmp_path) as tools:
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        known = await tools.run("known")
        assert known["SHOP_TOKEN"] == "open sesame"
        assert "OPENAI_API_KEY" not in known


@pytest.mark.real_time
async def test_what_keeps_the_interpreter_keeps_its_own_and_is_killed_once_nobody_waits(
    tmp_path, monkeypatch
):
    async with opened(tmp_path) as tools:
        monkeypatch.setattr(isolated, "STUCK_SECONDS", 0.1)
        first = await tools.run("who")
        marker = tmp_path / "begun"
        async with asyncio.TaskGroup() as group:
            task = group.create_task(tools.run("keeps", marker=str(marker)))
            while not marker.exists():  # noqa: ASYNC110 (another process makes it)
                await asyncio.sleep(0.01)
            task.cancel()
        while not tools.process._child.over:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert await tools.run("who") != first


@pytest.mark.real_time
async def test_what_a_function_raises_is_an_answer(tmp_path):
    async with opened(tmp_path) as tools:
        with pytest.raises(ToolFailed) as failed:
            await tools.run("refuses")
        assert (failed.value.code, failed.value.message) == ("taken", "That hour is taken.")
        with pytest.raises(ToolFailed, match="not working"):
            await tools.run("raises")
        assert await tools.run("later", seconds=0.0) == {"result": "now"}


@pytest.mark.real_time
async def test_a_write_that_ends_the_process_is_uncertain_and_stays_open_in_the_ledger(tmp_path):
    async with opened(tmp_path) as tools:
        with pytest.raises(Uncertain):
            await tools.run("ends", key="k1")
        assert [deed.key for deed in tools.store.open_deeds()] == ["k1"]
        assert await tools.run("later", seconds=0.0) == {"result": "now"}, "it is started again"


@pytest.mark.real_time
async def test_a_write_in_the_store_happens_once(tmp_path):
    async with opened(tmp_path) as tools:
        assert await tools.run("keep", key="k1", what="a") == {"kept": 1}
        assert await tools.run("keep", key="k1", what="a") == {"kept": 1, "repeated": True}
        assert await tools.run("keep", key="k2", what="a") == {"kept": 2}


@pytest.mark.real_time
async def test_a_write_that_runs_comes_to_its_end_when_the_agent_is_closed(tmp_path):
    async with opened(tmp_path) as tools:
        marker = tmp_path / "written"
        async with asyncio.TaskGroup() as group:
            task = group.create_task(tools.run("slow", marker=str(marker)))
            while tools.process._child is None or not tools.process._child.busy:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await tools.process.close()
        assert task.result() == {"result": "written"}
        assert marker.exists()


@pytest.mark.real_time
async def test_a_process_that_nobody_uses_ends_and_is_started_again(tmp_path, monkeypatch):
    monkeypatch.setattr(isolated, "IDLE_SECONDS", 0.05)
    async with opened(tmp_path) as tools:
        first = await tools.run("who")
        await rests(tools)
        assert await tools.run("who") != first


async def rests(tools: Tools) -> None:
    """Wait until nobody has the process any more."""
    async with asyncio.timeout(20.0):
        while tools.process._child is not None:  # noqa: ASYNC110 (another process ends)
            await asyncio.sleep(0.01)


@pytest.mark.real_time
async def test_a_process_that_is_wanted_as_it_is_to_rest_rests_later(tmp_path, monkeypatch):
    monkeypatch.setattr(isolated, "IDLE_SECONDS", 0.05)
    async with opened(tmp_path) as tools:
        await tools.run("who")
        await rests(tools)
        tools.process._rest()  # as the timer does while a start takes long
        await tools.run("who")
        await rests(tools)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_the_kind\n", r"shop\.py:1 cannot be loaded: .*nothing_of_the_kind"),
        ("import sys\nsys.exit(3)\n", r"shop\.py:2 cannot be loaded: .*SystemExit"),
        ("import os\nos._exit(3)\n", r"shop\.py cannot be loaded: status 3"),
        ("book = 1\n", r'there is no function "book" in shop\.py'),
        ("def book(x: 'Nowhere'): 'Book.'\n", r"shop\.py:1: book: .*Nowhere"),
    ],
    ids=["import", "exit", "end", "no function", "hint"],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(tmp_path: Path, text, said):
    (tmp_path / "shop.py").write_text(text)
    told = Home(str(tmp_path / "shop.py"), tmp_path, {}).describe(["book"])["book"]
    assert told.spec is None
    assert re.search(said, told.wrong)
