"""The toolbox: whatever happens in a tool is an answer."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from gateway.events import CallInfo, Json, RunTool, ToolAnswered
from gateway.tools.context import ToolContext, ToolFailed
from gateway.tools.functions import function_tool, tool
from gateway.tools.messages import message_tools
from gateway.tools.store import Store
from gateway.tools.toolbox import CallTools, Toolbox


class Own(BaseException):
    """What somebody made of a class that no `except Exception` takes."""


CALL = CallInfo("c1", "test", "a", caller="+12065550123")
CONTEXT = ToolContext(CALL, datetime(2025, 12, 2, tzinfo=UTC))


def opened(folder: Path, *functions: Callable[..., Any]) -> CallTools:
    tools = {made.spec.name: made for made in map(function_tool, functions)}
    return Toolbox(tools | message_tools(), Store(folder / "t.sqlite")).open(CONTEXT)


def answer(box: CallTools, name: str, arguments: Json, timeout: float = 5.0) -> ToolAnswered:
    return asyncio.run(box.run(RunTool("a1", name, arguments, "k1", timeout)))


def test_a_result_is_done(tmp_path: Path) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    answered = answer(opened(tmp_path, add), "add", {"a": 1, "b": 2})
    assert (answered.ask, answered.result, answered.outcome) == ("a1", {"result": 3}, "done")


def test_failures_of_all_kinds_are_answers(tmp_path: Path) -> None:
    def cannot() -> None:
        raise ToolFailed("full", "Nothing is free.")

    def breaks() -> None:
        raise ZeroDivisionError

    box = opened(tmp_path, cannot, breaks)
    assert answer(box, "cannot", {}).result == {"error": "full", "message": "Nothing is free."}
    assert answer(box, "cannot", {}).outcome == "failed"
    assert answer(box, "breaks", {}).result["error"] == "broken"
    assert answer(box, "nothing", {}).outcome == "refused"


@pytest.mark.real_time
@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize(
    "kind",
    [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, asyncio.CancelledError, Own],
)
async def test_whatever_a_tool_raises_is_an_answer_at_once(
    tmp_path: Path, kind: type[BaseException], effect: Literal["read", "write"]
) -> None:
    @tool(effect=effect)
    def plain() -> None:
        raise kind

    @tool(effect=effect)
    async def waits() -> None:
        await asyncio.sleep(0)
        raise kind

    box = opened(tmp_path, plain, waits)
    for name in ("plain", "waits"):
        answered = await box.run(RunTool("a1", name, {}, f"k-{name}", 5.0))
        # A write may break after its effect, so that nobody knows whether it was done.
        told = ("failed", "broken") if effect == "read" else ("uncertain", "uncertain")
        assert (answered.outcome, answered.result["error"]) == told
    left = [deed.name for deed in box.toolbox.store.open_deeds()]
    assert left == ([] if effect == "read" else ["plain", "waits"])


@pytest.mark.real_time
async def test_a_read_is_given_up_after_its_time_and_a_write_is_not(tmp_path: Path) -> None:
    read_is_over = threading.Event()

    async def look() -> str:
        await asyncio.Event().wait()
        return "late"

    @tool(effect="write")
    async def send() -> str:
        await asyncio.to_thread(read_is_over.wait, 30)
        return "late"

    box = opened(tmp_path, look, send)
    async with asyncio.TaskGroup() as group:
        write = group.create_task(box.run(RunTool("a2", "send", {}, "k2", 0.01)))
        read = await box.run(RunTool("a1", "look", {}, "", 0.01))
        read_is_over.set()
    assert [read.outcome, write.result().outcome] == ["timeout", "done"]


def test_the_key_of_a_write_reaches_it(tmp_path: Path) -> None:
    @tool(effect="write")
    def send(context: ToolContext) -> str:
        return context.key

    assert answer(opened(tmp_path, send), "send", {}).result == {"result": "k1"}


def test_messages_are_written_down_with_the_callers_number(tmp_path: Path) -> None:
    box = opened(tmp_path)
    answer(box, "take_message", {"text": "Call me.", "name": "Jack"})
    callback = RunTool("a2", "schedule_callback", {"number": "555", "when": "at five"}, "k2", 5.0)
    assert asyncio.run(box.run(callback)).result["status"] == "noted"
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as store:
        rows = store.execute("select kind, name, number, text, due from messages").fetchall()
    assert rows == [
        ("message", "Jack", "+12065550123", "Call me.", ""),
        ("callback", "", "555", "", "at five"),
    ]
