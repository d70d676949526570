"""Sums a call log up: what callers waited for, how cut-ins went, what drafts saved.

DuckDB reads the files and computes; a line that is not JSON is counted and left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from gateway.observe.moments import as_written
from gateway.observe.story import STAGES


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over many turns; None where there was none."""

    count: int = 0
    median: float | None = None
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class CutIns:
    """Callers who took the floor while the agent spoke."""

    count: int = 0
    stop_delay: Spread = Spread()
    "seconds from the caller's first voiced sample until nothing more left here"
    heard_error: Spread = Spread()
    "seconds by which the heard position may be wrong"
    backchannels: int = 0
    "sounds that were known for listening, over which the agent went on"
    resumed: int = 0
    "other sounds over which the agent went on: noise, echo, nothing"


@dataclass(frozen=True, slots=True)
class Drafts:
    """Replies begun before the turn was confirmed."""

    started: int = 0
    used: int = 0
    dropped: int = 0
    "each was a model call that came to nothing"
    saved: float = 0.0
    "seconds that used drafts saved, in all"
    saved_each: Spread = Spread()


@dataclass(frozen=True, slots=True)
class ToolRuns:
    """One tool's runs."""

    effect: str
    seconds: Spread
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """What the log tells of a stretch of time; times in seconds."""

    first: str = ""
    "time of the first line"
    last: str = ""
    calls: int = 0
    "begun in this stretch"
    ended_by: Mapping[str, int] = field(default_factory=dict)
    call_seconds: Spread = Spread()
    response: Spread = Spread()
    stages: Mapping[str, Spread] = field(default_factory=dict)
    acknowledged: Spread = Spread()
    "turns in which a filler was heard first, and when"
    turns_ended: Mapping[str, int] = field(default_factory=dict)
    "what ended callers' turns"
    detector_late: int = 0
    "turns in which the detector's answer did not come in time"
    cut_ins: CutIns = CutIns()
    drafts: Drafts = Drafts()
    tools: Mapping[str, ToolRuns] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    "calls that were not taken, by cause"
    failed: Mapping[str, int] = field(default_factory=dict)
    "calls that were placed and not answered, by what came of them"
    bad_lines: int = 0


def report(files: Sequence[Path], since: datetime | None = None) -> Report:
    """Read log files and sum up what happened at or after `since`."""
    with duckdb.connect() as base:
        bad = _open(base, files, since)
        asked = _Asked(base)
        first, last = asked.row("select min(ts), max(ts) from log")
        return Report(
            first=first or "",
            last=last or "",
            calls=asked.count("event = 'call_started'"),
            ended_by=asked.groups("event = 'call_ended'", "ended_by"),
            call_seconds=asked.spread("seconds", "event = 'call_ended'"),
            response=asked.spread("response", "event = 'turn'"),
            stages={name: asked.spread(f"stages.{name}", "event = 'turn'") for name in STAGES},
            acknowledged=asked.spread("acknowledged", "event = 'turn'"),
            turns_ended=asked.groups("event = 'turn_ended'", "why"),
            detector_late=asked.count("event = 'turn_ended' and line->>'$.late' = 'true'"),
            cut_ins=_cut_ins(asked),
            drafts=_drafts(asked),
            tools=_tools(asked),
            faults=asked.groups("event = 'fault'", "part"),
            refused=asked.groups("event = 'call_refused'", "cause", "count"),
            failed=asked.groups("event = 'call_failed'", "outcome"),
            bad_lines=bad,
        )


def _open(base: duckdb.DuckDBPyConnection, files: Sequence[Path], since: datetime | None) -> int:
    """Load the log into the table `log`; give the number of lines that are no JSON."""
    there = [each for each in files if each.exists() and each.stat().st_size]
    if not there:
        base.execute(
            "create table log (line json, ts varchar, call varchar, moment double, event varchar)"
        )
        return 0
    with tempfile.TemporaryDirectory(prefix="parley-") as folder:
        # Under names of our own: duckdb takes some for patterns, and none that is no text.
        names = [Path(folder) / f"{number}.jsonl" for number in range(len(there))]
        for name, path in zip(names, there, strict=True):
            name.symlink_to(path.absolute())
        try:
            _load(base, names)
        except duckdb.Error:  # what is in them is no text
            for name in names:
                _as_text(name)
            _load(base, names)
    base.execute(
        """
        create table log as
        select line, line->>'$.ts' as ts, line->>'$.call' as call, line->>'$.event' as event,
          try_cast(line->>'$.at' as double) as moment
        from raw where line is not null and ($since is null or line->>'$.ts' >= $since)
        """,
        {"since": None if since is None else as_written(since)},
    )
    counted = base.execute("select count(*) from raw where line is null").fetchone()
    return int(counted[0]) if counted else 0


def _load(base: duckdb.DuckDBPyConnection, names: Sequence[Path]) -> None:
    """Load files into the table `raw`: one column, one row a line, NULL where it is no JSON."""
    base.execute(
        """
        create or replace temp table raw as
        select try_cast(text as json) as line from read_csv(
          ?, header = false, columns = {'text': 'varchar'}, delim = '\x01', quote = '',
          escape = '', strict_mode = false, max_line_size = 16000000, null_padding = true
        ) where trim(text) <> ''
        """,
        [[str(each) for each in names]],
    )


def _as_text(name: Path) -> None:
    """Put a copy in a link's place, with a sign for everything that is no printable text."""
    lines = name.read_bytes().splitlines()
    name.unlink()
    with name.open("w") as copy:
        for line in lines:
            text = line.decode(errors="replace")
            copy.write("".join(c if c.isprintable() else "?" for c in text) + "\n")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The questions a report asks of the log."""

    base: duckdb.DuckDBPyConnection

    def row(self, query: str) -> tuple[Any, ...]:
        return self.base.execute(query).fetchone() or ()

    def count(self, where: str) -> int:
        return int(self.row(f"select count(*) from log where {where}")[0])

    def groups(self, where: str, name: str, count: str = "") -> dict[str, int]:
        """Count lines by a field; `count` names the field of lines that stand for several."""
        each = f"coalesce(try_cast(line->>'$.{count}' as bigint), 1)" if count else "1"
        rows = self.base.execute(
            f"select coalesce(line->>'$.{name}', '') as name, sum({each}) as number "
            f"from log where {where} group by name order by number desc, name"
        ).fetchall()
        return {str(name): int(number) for name, number in rows}

    def spread(self, name: str, where: str, source: str = "log") -> Spread:
        """Return count, median and 95th percentile of a number in the lines."""
        value = f"try_cast(line->>'$.{name}' as double)"
        count, median, p95 = self.row(
            f"select count(v), median(v), quantile_cont(v, 0.95) "
            f"from (select {value} as v from {source} where {where})"
        )
        return Spread(int(count), _rounded(median), _rounded(p95))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _cut_ins(asked: _Asked) -> CutIns:
    # One cut-in may end several utterances, queued ones too; they were told at the same moment.
    once = (
        "(select distinct on (call, moment) line, event from log where event = 'interrupted' "
        "and line->>'$.stop_delay' is not null order by call, moment, "
        "try_cast(line->>'$.heard' as double) desc)"
    )
    delays = asked.spread("stop_delay", "true", once)
    return CutIns(
        count=delays.count,
        stop_delay=delays,
        heard_error=asked.spread("error", "true", once),
        backchannels=asked.count("event = 'backchannel'"),
        resumed=asked.count("event = 'resumed'"),
    )


def _drafts(asked: _Asked) -> Drafts:
    outcomes = asked.groups("event = 'draft'", "outcome")
    saved = asked.row(
        "select coalesce(sum(try_cast(line->>'$.draft_saved' as double)), 0) "
        "from log where event = 'turn'"
    )
    return Drafts(
        started=outcomes.get("started", 0),
        used=outcomes.get("used", 0),
        dropped=outcomes.get("dropped", 0),
        saved=round(float(saved[0]), 4),
        saved_each=asked.spread("draft_saved", "event = 'turn'"),
    )


def _tools(asked: _Asked) -> dict[str, ToolRuns]:
    found: dict[str, ToolRuns] = {}
    ran = "event = 'tool' and coalesce(line->>'$.outcome', '') <> 'asked'"
    for name in asked.groups(ran, "name"):
        quoted = name.replace("'", "''")
        where = f"{ran} and line->>'$.name' = '{quoted}'"
        # The effect is told when the tool is asked for.
        effects = asked.groups(f"event = 'tool' and line->>'$.name' = '{quoted}'", "effect")
        found[name] = ToolRuns(
            effect=next((effect for effect in effects if effect), ""),
            seconds=asked.spread("seconds", where),
            outcomes=asked.groups(where, "outcome"),
        )
    return found
