"""Lays a report out for people: figures in columns, the stages' medians as one bar."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gateway.observe.lines import printable
from gateway.observe.report import CutIns, Drafts, Report, Spread, ToolRuns
from gateway.observe.story import QUIET, STAGES, bar, strip


def sheet(report: Report) -> RenderableType:
    """Lay the whole report out."""
    if not report.first:
        return Text("nothing in the log for that time")
    parts: list[RenderableType] = [_head(report), Text()]
    if report.response.count:
        parts += [_waits(report), Text()]
    parts.append(_facts(report))
    return Group(*parts)


def _head(report: Report) -> Text:
    said = Text(f"{report.calls} call{'' if report.calls == 1 else 's'}", "bold")
    said.append(f" · {_day(report.first)} to {_day(report.last)}", QUIET)
    if report.call_seconds.median is not None:
        said.append(f" · {report.call_seconds.median:.0f} s each (median)", QUIET)
    return said


def _waits(report: Report) -> Table:
    """Lay the waits out, the medians as a waterfall beside them."""
    table = Table(box=None, padding=(0, 2), header_style=QUIET)
    table.add_column("seconds a caller waited", no_wrap=True)
    for name in ("turns", "median", "p95"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("medians", no_wrap=True)
    medians = {name: report.stages[name].median or 0.0 for name in STAGES}
    _row(table, Text("response"), report.response, bar(medians), "bold")
    reached = 0.0
    for name, (said, colour) in STAGES.items():
        own = strip([(reached, ""), (medians[name], colour)])
        _row(table, Text(said), report.stages[name], own)
        reached += medians[name]
    if report.acknowledged.count:
        _row(table, Text("until a filler, where one came first"), report.acknowledged)
    return table


def _row(
    table: Table, label: Text, spread: Spread, drawn: Text | None = None, style: str = ""
) -> None:
    figures = (str(spread.count), _figure(spread.median), _figure(spread.p95))
    table.add_row(label, *figures, drawn or "", style=style)


def _facts(report: Report) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(style=QUIET, no_wrap=True)
    table.add_column()
    late = {"detector late": report.detector_late} if report.detector_late else {}
    rows = {
        "calls ended by": _counts(report.ended_by),
        "turns ended by": _counts({**report.turns_ended, **late}),
        "cut-ins": _cut_ins(report.cut_ins),
        "played on over": _counts(_dismissed(report.cut_ins)),
        "drafts": _drafts(report.drafts),
        "tools": "\n".join(_tool(name, tool) for name, tool in report.tools.items()),
        "calls refused": _counts(report.refused),
        "calls not answered": _counts(report.failed),
        "faults": _counts(report.faults) or "none",
        "unreadable lines": str(report.bad_lines or ""),
    }
    for name, said in rows.items():
        if said:
            table.add_row(name, Text(printable(said)))
    return table


def _cut_ins(cut_ins: CutIns) -> str:
    facts = [str(cut_ins.count)]
    if cut_ins.count:
        facts.append(f"silent after {_both(cut_ins.stop_delay)}")
        facts.append(f"heard position within {_both(cut_ins.heard_error)}")
    return " · ".join(facts)


def _dismissed(cut_ins: CutIns) -> dict[str, int]:
    found = {"back-channels": cut_ins.backchannels, "other sounds": cut_ins.resumed}
    return {name: number for name, number in found.items() if number}


def _drafts(drafts: Drafts) -> str:
    if not drafts.started:
        return ""
    facts = [f"{drafts.started} started", f"{drafts.used} used"]
    facts.append(f"{drafts.dropped} dropped, each an extra model call")
    if drafts.saved_each.median is not None:
        facts.append(f"saved {drafts.saved:.1f} s, {_both(drafts.saved_each)} each")
    return " · ".join(facts)


def _tool(name: str, tool: ToolRuns) -> str:
    facts = [f"{name} ({tool.effect})" if tool.effect else name, _counts(tool.outcomes)]
    if tool.seconds.count:
        facts.append(_both(tool.seconds))
    return " · ".join(facts)


def _counts(counts: Mapping[str, int]) -> str:
    return " · ".join(f"{name or 'unknown'} {number}" for name, number in counts.items())


def _both(spread: Spread) -> str:
    return f"{_figure(spread.median)} s (p95 {_figure(spread.p95)})"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _day(ts: str) -> str:
    """Return local date and time of a log line's time."""
    try:
        return datetime.fromisoformat(ts).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return ts
