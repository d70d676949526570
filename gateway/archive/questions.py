"""What can be asked of the list of calls, and the answer."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gateway.archive.store import Store

MOST = 100
"""Calls in one answer."""

COUNTED = 10_000
"""Calls up to which are counted: past it, nobody asks how many."""

SLOW_SECONDS = 1.5
"""A call in which somebody waited longer for an answer is a slow one: by then people ask whether
anybody is there."""


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A search; what is empty asks for nothing."""

    words: str = ""
    "said by either side; a word's beginning is enough"
    since: str = ""
    "RFC 3339, UTC, as the log has it"
    until: str = ""
    line: str = ""
    agent: str = ""
    number: str = ""
    "a part of either end's"
    ended_by: str = ""
    "`caller`, `agent`, `failure`, or `nobody`: in progress"
    slow: bool = False
    cut_in: bool = False
    faulty: bool = False
    after: int = 0
    "goes on behind the call of that number"
    most: int = 50


class Listed(msgspec.Struct, frozen=True):
    """A call in the list."""

    number: int
    "by which calls are in order; the newest has the highest"
    call: str
    began: str
    line: str
    agent: str
    caller: str
    callee: str
    direction: str
    recorded: bool
    over: bool
    ended_by: str
    reason: str
    seconds: float
    response_median: float | None
    response_max: float | None
    turns: int
    cut_ins: int
    faults: int
    tools: int
    said: str | None
    "what was said around the words looked for, these between U+0002 and U+0003"


class Found(msgspec.Struct, frozen=True):
    """The answer."""

    calls: list[Listed]
    total: int
    "`COUNTED` at most"
    more: bool
    lines: list[str]
    "that have calls in the index"
    agents: list[str]


def find(store: Store, asked: Asked) -> Found:
    """Return the newest calls that were asked for."""
    where, values = _where(asked)
    match = _match(asked.words)
    source, number = "calls", "calls.number"
    if match:
        source, number = "words join calls on calls.number = words.rowid", "words.rowid"
        where, values = ["words match ?", *where], [match, *values]
    condition = " and ".join(where) or "1"
    counted = f"select 1 from {source} where {condition} limit {COUNTED}"
    total = store.base.execute(f"select count(*) from ({counted})", values).fetchone()[0]
    if asked.after:
        condition, values = f"({condition}) and {number} < ?", [*values, asked.after]
    most = max(1, min(MOST, asked.most))
    rows = store.base.execute(
        f"select calls.number, call, began, line, agent, caller, callee, direction, "
        f"recording <> '', over, ended_by, reason, seconds, response_median, response_max, turns, "
        f"cut_ins, faults, tools from {source} where {condition} order by {number} desc limit ?",
        [*values, most + 1],
    ).fetchall()
    # The text around a word is made for the calls that are shown alone.
    calls = [_listed(store, row, match) for row in rows[:most]]
    return Found(calls, total, len(rows) > most, _names(store, "line"), _names(store, "agent"))


def one(store: Store, call: str) -> tuple[Any, ...] | None:
    """Return a call's row in the index: recording, over, and where its lines are."""
    row: tuple[Any, ...] | None = store.base.execute(
        "select call, recording, over, begin_file, begin_at, end_file, end_at from calls "
        "where call = ?",
        (call,),
    ).fetchone()
    return row


def _listed(store: Store, row: tuple[Any, ...], match: str) -> Listed:
    text = None
    if match:
        found = store.base.execute(
            "select snippet(words, 0, char(2), char(3), '…', 24) from words "
            "where words match ? and rowid = ?",
            (match, row[0]),
        ).fetchone()
        text = None if found is None else found[0]
    named = dict(zip(Listed.__struct_fields__, (*row, text), strict=True))
    return msgspec.convert(named, Listed, strict=False)


def _where(asked: Asked) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    for text, condition in (
        (asked.since, "began >= ?"),
        (asked.until, "began < ?"),
        (asked.line, "line = ?"),
        (asked.agent, "agent = ?"),
    ):
        if text:
            where.append(condition)
            values.append(text)
    if asked.number:
        where.append("(instr(caller, ?) or instr(callee, ?) or instr(call, ?))")
        values += [asked.number.strip()] * 3
    if asked.ended_by == "nobody":
        where.append("over = 0")
    elif asked.ended_by:
        where.append("ended_by = ?")
        values.append(asked.ended_by)
    if asked.slow:
        where.append(f"response_max > {SLOW_SECONDS}")
    if asked.cut_in:
        where.append("cut_ins > 0")
    if asked.faulty:
        where.append("(faults > 0 or ended_by = 'failure')")
    return where, values


def _match(words: str) -> str:
    """Return what the index of words is asked: all of them, the last one by its beginning."""
    found = re.findall(r"\w+", words)
    return " ".join(f'"{word}"' for word in found) + "*" if found else ""


def _names(store: Store, column: str) -> list[str]:
    # A walk from one name to the next: `distinct` would look at every call.
    rows = store.base.execute(
        f"with recursive each(name) as (select min({column}) from calls union all "
        f"select (select min({column}) from calls where {column} > name) from each "
        f"where name is not null) select name from each where name is not null limit 100"
    )
    return [name for (name,) in rows if name]
