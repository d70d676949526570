"""The built-in tools that write something down for the staff."""

from __future__ import annotations

import sqlite3

from gateway.events import Json
from gateway.tools.builtins import BUILTINS
from gateway.tools.context import ToolContext
from gateway.tools.functions import FunctionTool

_SCHEMA = """
create table if not exists messages (
    id integer primary key,
    call text not null,
    kind text not null check (kind in ('message', 'callback')),
    name text not null,
    number text not null,
    text text not null,
    due text not null,
    at text not null
)
"""


def take_message(
    store: sqlite3.Connection, context: ToolContext, text: str, name: str = "", number: str = ""
) -> Json:
    """Write a message down for the staff."""
    return _write(store, context, "message", name, number or context.call.caller, text, "")


def schedule_callback(
    store: sqlite3.Connection, context: ToolContext, number: str, when: str = "", about: str = ""
) -> Json:
    """Have the caller called back later."""
    return _write(store, context, "callback", "", number, about, when)


def message_tools() -> dict[str, FunctionTool]:
    """Return the tools, under their specifications."""
    return {
        function.__name__: FunctionTool(function, BUILTINS[function.__name__])
        for function in (take_message, schedule_callback)
    }


def _write(
    store: sqlite3.Connection,
    context: ToolContext,
    kind: str,
    name: str,
    number: str,
    text: str,
    due: str,
) -> Json:
    store.execute(_SCHEMA)
    row = store.execute(
        "insert into messages (call, kind, name, number, text, due, at)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        (context.call.call_id, kind, name, number, text, due, context.began.isoformat()),
    )
    return {"status": "noted", "id": row.lastrowid, "number": number}
