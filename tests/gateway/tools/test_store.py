"""The ledger of writes: once, in threads too, and honest about what is not known."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.events import Json
from gateway.tools.context import ToolFailed
from gateway.tools.store import Store


def add(connection: sqlite3.Connection) -> Json:
    connection.execute("create table if not exists deeds (n integer)")
    connection.execute("insert into deeds values (1)")
    return {"count": connection.execute("select count(*) from deeds").fetchone()[0]}


def test_the_same_key_from_many_threads_is_one_deed(tmp_path: Path) -> None:
    store = Store(tmp_path / "deep" / "er" / "s.sqlite")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: store.once("k", "c", "add", {}, add), range(24)))
    assert sorted(map(str, results))[0] == "{'count': 1, 'repeated': True}"
    assert sum("repeated" not in result for result in results) == 1
    assert all(result["count"] == 1 for result in results)


def test_it_is_remembered_across_processes(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").once("k", "c", "add", {}, add)
    again = Store(tmp_path / "s.sqlite").once("k", "c", "add", {}, add)
    assert again == {"count": 1, "repeated": True}


def test_a_write_elsewhere_is_begun_and_finished_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    assert store.begin("k", "c", "send", {"to": 1}) is None
    with pytest.raises(ToolFailed, match="not known"):
        store.begin("k", "c", "send", {"to": 1})
    store.finish("k", {"id": 7})
    assert store.begin("k", "c", "send", {"to": 1}) == {"id": 7, "repeated": True}


def test_a_write_that_did_not_happen_is_released(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    assert store.begin("k", "c", "send", {"to": 1}) is None
    store.release("k")
    assert store.begin("k", "c", "send", {"to": 1}) is None
    store.finish("k", {})
    store.release("k")  # too late: what is done stays done
    assert store.begin("k", "c", "send", {"to": 1}) == {"repeated": True}


def test_what_tools_keep_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "data" / "s.sqlite")
    store.once("k", "c", "add", {}, add)
    assert store.path.parent.stat().st_mode & 0o777 == 0o700
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_what_was_begun_and_never_ended_is_open_also_for_another_process(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    assert store.open_deeds() == []
    for key in ("a", "b", "c"):
        store.begin(key, "call-1", "send", {"to": key})
    store.finish("a", {})
    store.release("c")
    (left,) = Store(tmp_path / "s.sqlite").open_deeds()
    assert (left.key, left.call, left.name, left.arguments) == ("b", "call-1", "send", {"to": "b"})
