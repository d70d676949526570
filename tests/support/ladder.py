"""Conversations in text, written as ladders: who says what, and what is done in between.

caller  what the caller says; `(cut 3)` before it: having heard three words of what was said last
agent   what the agent answers; parts in order, with `…` where anything may be
tool    a tool used since the caller spoke, in order; `name: outcome` where it is not done
used    the arguments of a tool that was used
ends    the agent hangs up
booked  what is in the agent's store: day, time, name and car, or nothing
given   a variable of the call, before it begins
fails   what a tool answers from now on in place of its own answer
late    what a tool answers after all
after   another conversation that comes before this one
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from gateway.events import Entry
from gateway.scenarios.text_call import TextCall

Ladder = list[tuple[int, str, str]]
"""Line number, kind and text of each rung."""


def read_ladders(path: Path) -> dict[str, Ladder]:
    """Read the conversations of a file by their titles."""
    ladders: dict[str, Ladder] = {}
    ladder: Ladder = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("## "):
            ladder = ladders[line[3:].strip("() ")] = []
        elif line.strip():
            kind, _, text = line.partition(" ")
            ladder.append((number, kind, text.strip()))
    return ladders


def hold(
    title: str, ladders: dict[str, Ladder], make: Callable[[dict[str, str]], TextCall]
) -> None:
    """Hold a conversation and compare it rung by rung; `make` is given the call's variables."""
    rungs = _whole(title, ladders)
    given = dict(text.split(" ", 1) for _, kind, text in rungs if kind == "given")
    call = make(given)
    said, mark = "", 0
    for number, kind, text in rungs:
        where = f"line {number}: {kind} {text}"
        match kind:
            case "caller":
                mark = len(call.used)
                cut = re.match(r"\(cut (\d+)\)\s*(.*)", text)
                said = call.says(cut[2], int(cut[1])) if cut else call.says(text)
            case "agent":
                assert _holds(said, text), f"{where}\nthe agent said: {said}"
                left = [used.name for used in call.used[mark:] if used.name != "hang_up"]
                assert not left, f"{where}\ntools that the ladder does not have: {left}"
            case "tool":
                assert len(call.used) > mark, f"{where}\nno tool was used; the agent said: {said}"
                name, _, outcome = text.partition(":")
                used = call.used[mark]
                assert (used.name, used.outcome) == (name, outcome.strip() or "done"), where
                mark += 1
            case _:
                _state(call, kind, text, where)


def _state(call: TextCall, kind: str, text: str, where: str) -> None:
    name, _, data = text.partition(" ")
    match kind:
        case "used":
            assert call.used[-1].name == name, where
            assert call.used[-1].arguments == json.loads(data), where
        case "ends":
            assert call.ended, f"{where}\nthe call goes on"
        case "booked":
            assert booked(call) == ([] if text == "nothing" else [text]), where
        case "fails":
            call.broken[name] = json.loads(data)
        case "late":
            result = json.loads(data)
            call.history.append(Entry("note", f"{name} is done", "late", name, result))
        case "given":
            pass
        case _:
            raise AssertionError(where)


def booked(call: TextCall) -> list[str]:
    """List what is booked, a line each."""
    if not call.store.path.exists():
        return []
    with closing(sqlite3.connect(call.store.path)) as store:
        there = store.execute("select 1 from sqlite_master where name = 'bookings'").fetchone()
        if not there:
            return []
        rows = store.execute("select day, time, name, car from bookings").fetchall()
    return [f"{day} {time} {name}, {car}" for day, time, name, car in rows]


def _whole(title: str, ladders: dict[str, Ladder]) -> Ladder:
    whole: Ladder = []
    for number, kind, text in ladders[title]:
        whole += _whole(text, ladders) if kind == "after" else [(number, kind, text)]
    return whole


def _holds(said: str, wanted: str) -> bool:
    at = 0
    for part in filter(None, (part.strip() for part in wanted.split("…"))):
        at = said.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return "…" in wanted or said == wanted
