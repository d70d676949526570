"""Compares what a call did with what it does now, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gateway.plumbing import virtual_time
from gateway.replay import records
from gateway.replay.file import CallJournal
from gateway.replay.records import Did, Record, decode, encode, form_of, slim
from gateway.replay.rerun import MakeTaking, Rerun
from turn.taking import TurnTaking


@dataclass(frozen=True, slots=True)
class Difference:
    """The first line in which a call that is run again differs from its journal."""

    line: int
    "of the journal, counted from 1, its head not counted"
    at: float
    "seconds since the call began"
    what: str
    "kind of line"
    then: str
    "as it stands in the journal; empty: nothing more"
    now: str
    "as it is now; empty: nothing more"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a call that was run again compares."""

    lines: int
    seconds: float
    "of the call"
    cut: str
    "why the journal ends before the call did"
    difference: Difference | None


def check(journal: CallJournal, make_taking: MakeTaking = TurnTaking) -> Verdict:
    """Run a call again as it was, in virtual time, and compare.

    Raises ValueError for a journal in which words are hidden: they are evidence.
    """
    if journal.header.mask != "none":
        raise ValueError(
            f"words are hidden in it (log.mask = {journal.header.mask!r}), and without them the "
            "call takes another course; recording.journal_hidden = true keeps them"
        )
    rerun = Rerun(journal, make_taking)
    noted = virtual_time.run(rerun.run())
    found = compare(journal, noted)
    if found is None and rerun.unasked is not None:
        record = journal.records[rerun.unasked]
        at = record.t - journal.records[0].t
        now = "the question is not asked"
        found = Difference(rerun.unasked + 1, at, kind_of(record), line_of(record), now)
    return Verdict(len(journal.records), journal.seconds, journal.cut, found)


def compare(journal: CallJournal, noted: Sequence[Record]) -> Difference | None:
    """Find the first difference; None: there is none."""
    form = form_of(journal.header.info)
    now = [slim(record, form) for record in noted]
    for deeds in (False, True):
        there = [
            (number, record)
            for number, record in enumerate(journal.records, 1)
            if _is_deed(record) is deeds
        ]
        here = [record for record in now if _is_deed(record) is deeds]
        found = _first(journal, there, here)
        if found is not None:
            return found
    return None


def _first(
    journal: CallJournal, there: Sequence[tuple[int, records.AnyRecord]], here: Sequence[Record]
) -> Difference | None:
    begin = journal.records[0].t if journal.records else 0.0
    for (number, then), now in zip(there, here, strict=False):
        if not _same(then, now):
            return Difference(number, then.t - begin, kind_of(then), line_of(then), line_of(now))
    if len(here) < len(there):
        number, then = there[len(here)]
        return Difference(number, then.t - begin, kind_of(then), line_of(then), "")
    if len(here) > len(there) and not journal.cut:
        more = here[len(there)]
        number = len(journal.records) + 1
        return Difference(number, more.t - begin, kind_of(more), "", line_of(more))
    return None


def _is_deed(record: Record) -> bool:
    """Return whether a line was written by a write, which runs beside the rest of its call."""
    return isinstance(record, Did) and record.channel == "deed"


def _same(then: Record, now: Record) -> bool:
    if then == now:
        return True
    return _bare(then) == _bare(decode(encode(now)))


def _bare(record: Record) -> tuple[object, ...]:
    """Return what counts of a record: not when a task that asks began, nor when a write told."""
    fields = msgspec.structs.asdict(record)
    fields.pop("asked", None)
    if _is_deed(record):
        del fields["t"]
    return type(record), *fields.items()


def kind_of(record: Record) -> str:
    """Name a line for people."""
    if isinstance(record, Did):
        return f"{record.channel}: {record.name}"
    return str(type(record).__struct_config__.tag).lower()


def line_of(record: Record) -> str:
    """Write a line for people: what happened, without its sound."""
    fields = {
        name: value
        for name, value in msgspec.structs.asdict(record).items()
        if name not in ("t", "channel", "name")
    }
    if isinstance(record, Did):
        fields = dict(record.fields)
    told = ", ".join(f"{name}={_short(value)}" for name, value in fields.items())
    return f"t={record.t:.6f} {kind_of(record)} {told}"


def _short(value: Any) -> str:
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"
