"""Python functions as tools: their schema, their arguments, and how often they run."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import pytest
from msgspec import Meta

from gateway.events import CallInfo, Json
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.functions import FunctionTool, function_tool, tool
from gateway.tools.store import Store

CONTEXT = ToolContext(CallInfo("c1", "test", "a"), datetime(2025, 12, 2, tzinfo=UTC), key="k1")


@dataclass(frozen=True)
class Part:
    name: str
    count: int = 1


def look(
    context: ToolContext,
    city: Annotated[str, Meta(description="Where.")],
    days: int = 3,
    unit: Literal["c", "f"] = "c",
) -> dict[str, object]:
    """Look the weather up
    for a city.

    More that the model need not know.
    """
    return {"city": city, "days": days, "unit": unit, "call": context.call.call_id}


def run(made: FunctionTool, arguments: Json, folder: Path, key: str = "k1") -> Json:
    context = ToolContext(CONTEXT.call, CONTEXT.began, key=key)
    return asyncio.run(made.run(arguments, context, Store(folder / "t.sqlite")))


def test_the_schema_comes_from_hints_and_leaves_the_context_out() -> None:
    spec = function_tool(look).spec
    assert (spec.name, spec.description) == ("look", "Look the weather up for a city.")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where."},
            "days": {"type": "integer", "default": 3},
            "unit": {"enum": ["c", "f"], "default": "c"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert (spec.effect, spec.confirm) == ("read", False)


def test_a_dataclass_parameter_is_described_and_made(tmp_path: Path) -> None:
    def order(part: Part) -> int:
        return part.count

    made = function_tool(order)
    assert "Part" in made.spec.parameters["$defs"]
    assert run(made, {"part": {"name": "bolt", "count": 4}}, tmp_path) == {"result": 4}


def test_arguments_are_converted_as_models_write_them(tmp_path: Path) -> None:
    result = run(function_tool(look), {"city": "Rome", "days": "5"}, tmp_path)
    assert result == {"city": "Rome", "days": 5, "unit": "c", "call": "c1"}


@pytest.mark.parametrize(
    "arguments", [{}, {"city": "Rome", "days": "many"}, {"city": "Rome", "town": "x"}]
)
def test_wrong_arguments_are_told_so_that_the_model_can_mend_them(
    arguments: Json, tmp_path: Path
) -> None:
    with pytest.raises(ToolFailed) as failed:
        run(function_tool(look), arguments, tmp_path)
    assert failed.value.code == "bad_arguments"
    assert failed.value.message


def test_no_function_is_run_on_the_loop_that_asks(tmp_path: Path) -> None:
    async def waits() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    def works() -> str:
        return threading.current_thread().name

    here = threading.current_thread().name
    assert run(function_tool(waits), {}, tmp_path) != {"result": here}
    assert run(function_tool(works), {}, tmp_path) != {"result": here}


def test_a_write_of_a_plain_function_is_done_once_for_a_key(tmp_path: Path) -> None:
    done = []

    @tool(effect="write", confirm=True)
    def send(text: str) -> dict[str, int]:
        done.append(text)
        return {"count": len(done)}

    made = function_tool(send)
    assert (made.spec.effect, made.spec.confirm) == ("write", True)
    assert run(made, {"text": "a"}, tmp_path) == {"count": 1}
    assert run(made, {"text": "a"}, tmp_path) == {"count": 1, "repeated": True}
    assert run(made, {"text": "a"}, tmp_path, key="k2") == {"count": 2}


def test_a_write_that_says_it_did_nothing_may_be_tried_again(tmp_path: Path) -> None:
    tries = []

    @tool(effect="write")
    def send() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ToolFailed("busy")
        return "sent"

    with pytest.raises(ToolFailed, match="busy"):
        run(function_tool(send), {}, tmp_path)
    assert run(function_tool(send), {}, tmp_path) == {"result": "sent"}


def test_a_write_that_broke_is_not_tried_again_by_guess(tmp_path: Path) -> None:
    @tool(effect="write")
    def send() -> str:
        raise RuntimeError("half way")

    with pytest.raises(Uncertain):
        run(function_tool(send), {}, tmp_path)
    with pytest.raises(ToolFailed) as failed:
        run(function_tool(send), {}, tmp_path)
    assert failed.value.code == "uncertain"


def test_a_write_in_the_store_is_one_deed_with_its_entry(tmp_path: Path) -> None:
    @tool(effect="write")
    def note(store: sqlite3.Connection, text: str, fail: bool = False) -> dict[str, int]:
        store.execute("create table if not exists notes (text text)")
        store.execute("insert into notes values (?)", (text,))
        if fail:
            raise RuntimeError("after writing")
        return {"count": store.execute("select count(*) from notes").fetchone()[0]}

    made = function_tool(note)
    with pytest.raises(RuntimeError):
        run(made, {"text": "a", "fail": True}, tmp_path)
    assert run(made, {"text": "a"}, tmp_path) == {"count": 1}  # nothing of the failure stayed
    assert run(made, {"text": "a"}, tmp_path) == {"count": 1, "repeated": True}


def test_what_a_read_changes_in_the_store_is_undone(tmp_path: Path) -> None:
    def count(store: sqlite3.Connection) -> int:
        store.execute("create table if not exists notes (text text)")
        store.execute("insert into notes values ('x')")
        return int(store.execute("select count(*) from notes").fetchone()[0])

    for _ in range(2):
        assert run(function_tool(count), {}, tmp_path) == {"result": 1}
