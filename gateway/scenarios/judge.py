"""What is wrong with how a call went: by what was expected, and by what is never right."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise

from gateway.ports import ToolSpec
from gateway.scenarios.scenario import Expect, Rows, Turn
from gateway.scenarios.text_call import Used
from gateway.tools.store import Store


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that is wrong."""

    kind: str
    "one of `KINDS`"
    said: str
    line: int = 0
    "of what was expected, in the file"


def turn_failures(turn: Turn, answer: str, used: Sequence[Used]) -> Iterator[Failure]:
    """Compare what followed a turn with what was expected of it."""
    for expect in turn.expect:
        found = _response(expect, answer) if expect.event == "response" else _calls(expect, used)
        for kind, said in found:
            yield Failure(kind, said, turn.line)


def _response(expect: Expect, answer: str) -> Iterator[tuple[str, str]]:
    if expect.absent:
        if answer:
            yield "unexpected_event", f"the agent said: {answer}"
        return
    if not answer:
        yield "text_mismatch", "the agent said nothing"
        return
    low, at = answer.lower(), 0
    for piece in expect.text_contains:
        found = low.find(piece.lower(), at)
        if found < 0:
            yield "text_mismatch", f"{piece!r} is not in what the agent said: {answer}"
            break
        at = found + len(piece)
    for piece in expect.text_excludes:
        if piece.lower() in low:
            yield "text_mismatch", f"{piece!r} is in what the agent said: {answer}"


def _calls(expect: Expect, used: Sequence[Used]) -> Iterator[tuple[str, str]]:
    names = ", ".join(each.name for each in used) or "none"
    if expect.absent:
        unwanted = {each.name for each in expect.calls}
        for each in used:
            if not unwanted or each.name in unwanted:
                yield "unexpected_event", f"{each.name} was used: {dict(each.arguments)}"
        return
    rest = list(used)
    for call in expect.calls:
        while rest and rest[0].name != call.name:
            rest.pop(0)
        if not rest:
            yield "missing_function_call", f"{call.name} was not used; used: {names}"
            return
        found = rest.pop(0)
        given = found.arguments
        wrong = {k: given.get(k) for k, v in call.args.items() if given.get(k) != v}
        if wrong:
            wanted = {name: call.args[name] for name in wrong}
            yield "function_args_mismatch", f"{call.name} was given {wrong}, expected {wanted}"
        if found.outcome != call.outcome:
            said = f"{call.name} was {found.outcome}, expected {call.outcome}: {found.result}"
            yield "function_args_mismatch", said


@dataclass(frozen=True, slots=True)
class Answer:
    """What followed a turn of the caller's."""

    text: str
    tools: int
    "that were used for it"
    heard: bool
    "what was said before was heard to its end"


def never_right(
    answers: Sequence[Answer], used: Sequence[Used], specs: Sequence[ToolSpec]
) -> Iterator[Failure]:
    """Find what no caller should meet, whatever was expected."""
    before: list[str] = []
    for answer in answers:
        found = _sentences(answer.text)
        # A question is asked again, and a tool may find what it found before.
        if answer.heard and not answer.tools:
            for sentence in found:
                if sentence in before and not sentence.endswith("?"):
                    yield Failure("said_twice", f"the agent said again: {sentence}")
        before = found
        for sentence in dict.fromkeys(found):
            if found.count(sentence) > 1:
                yield Failure("said_twice", f"within one answer: {sentence}")
    writes = {spec.name for spec in specs if spec.effect == "write"}
    done = [
        (each.name, dict(each.arguments))
        for each in used
        if each.outcome == "done" and each.name in writes and not each.result.get("repeated")
    ]
    for deed, next_one in pairwise(done):  # what is moved may be moved back
        if deed == next_one:
            yield Failure("done_twice", f"{deed[0]} was done twice with {deed[1]}")


def _sentences(text: str) -> list[str]:
    return [each for each in re.split(r"(?<=[.!?])\s+", text.strip()) if len(each.split()) > 3]


def end_failures(wanted: bool | None, ended: bool) -> Iterator[Failure]:
    """Compare whether the agent hung up with what was wanted; None: it does not matter."""
    if wanted and not ended:
        yield Failure("not_ended", "the agent did not hang up")
    elif wanted is False and ended:
        yield Failure("bot_ended", "it did")


def state_failures(store: Store, wanted: Sequence[Rows]) -> Iterator[Failure]:
    """Compare the agent's store with what it must hold."""
    for each in wanted:
        found = _rows(store, each.table)
        if len(found) != len(each.rows):
            said = f"{each.table} holds {len(found)} rows, expected {len(each.rows)}: {found}"
            yield Failure("state_mismatch", said)
            continue
        for row, expected in zip(found, each.rows, strict=True):
            wrong = {k: row.get(k) for k, v in expected.items() if row.get(k) != v}
            if wrong:
                yield Failure("state_mismatch", f"{each.table} holds {wrong} in {row}")


def _rows(store: Store, table: str) -> list[dict[str, object]]:
    if not store.path.exists():
        return []
    with closing(sqlite3.connect(store.path)) as connection:
        connection.row_factory = sqlite3.Row
        known = connection.execute(
            "select 1 from sqlite_master where type = 'table' and name = ?", (table,)
        ).fetchone()
        if known is None:
            return []
        return [dict(row) for row in connection.execute(f'select * from "{table}" order by rowid')]
