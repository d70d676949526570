"""Prints a sweep: a table for people, a document for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gateway.goodput.curve import Point, Spread, capacity
from gateway.goodput.machine import Machine
from gateway.goodput.validity import BUSY

DIGITS = 4

COLUMNS = (
    "calls/s", "offered", "held", "calls", "refused", "broken", "turns", "good", "good calls/s",
    "response", "stop", "late", "missing", "heard", "server ms", "callers", "",
)  # fmt: skip

LEGEND = (
    "offered, held: calls at once, as they come and as there were; "
    "good: share of turns within every limit; "
    "response, stop: seconds, median / 95 of 100; heard: seconds, 95 of 100; "
    "server ms: processor time per call and second; callers: share of a core"
)


def head(target: str, machine: Machine, settings: Mapping[str, str]) -> list[str]:
    """Say what is measured, where, and by which settings."""
    cores = ",".join(map(str, machine.callers_cores))
    return [
        f"{target} on {machine.cores} cores ({machine.processor}), {machine.kernel}, "
        f"Python {machine.python}; callers on core {cores}, {machine.open_files} open files",
        "; ".join(f"{name} {value}" for name, value in settings.items()),
    ]


def table(points: Sequence[Point]) -> list[str]:
    """Lay a sweep out, a line a rate."""
    rows = [COLUMNS, *map(_row, points)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(COLUMNS))]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _row(each: Point) -> tuple[str, ...]:
    heard = each.heard_error.p95
    return (
        f"{each.rate:g}",
        f"{each.offered:.1f}",
        f"{each.held:.1f}",
        str(each.placed),
        str(each.refused),
        str(each.broken),
        str(each.turns),
        "-" if each.good is None else f"{each.good:.1%}",
        f"{each.goodput:.3f}",
        _pair(each.response),
        _pair(each.stop_delay),
        f"{each.late:.2%}",
        f"{each.missing:.2%}",
        "-" if heard is None else f"{heard:.3f}",
        "-" if each.cost is None else f"{1000 * each.cost:.2f}",
        f"{each.usage.loads.callers:.0%}",
        "" if each.valid else "INVALID",
    )


def told(points: Sequence[Point], target: float) -> list[str]:
    """Return the table, what was wrong, and the capacity."""
    return [*table(points), LEGEND, *map(_notes, points), verdict(points, target)]


def _notes(each: Point) -> str:
    notes = [f"INVALID: {problem}" for problem in each.problems]
    notes += [f"{n} x refused: {said}" for said, n in each.refusals.items()]
    notes += [f"{n} x broken: {said}" for said, n in each.breaks.items()]
    faults = ", ".join(f"{name} {n}" for name, n in each.faults.items() if n)
    notes += [f"turns over a limit: {faults}"] if faults else []
    notes += [
        f"{name}: {share:.0%} of a core" for name, share in each.usage.loads.stand_ins.items()
    ]
    notes.append(f"callers' own clock: 99 % within {1000 * each.usage.loads.clock:.1f} ms")
    return f"{each.rate:g} calls/s: " + "; ".join(notes)


def verdict(points: Sequence[Point], target: float) -> str:
    """Say up to which rate callers were content."""
    best = capacity(points, target)
    if best is None:
        why = "invalid" if points and not points[0].valid else f"below {target:.0%} good turns"
        return f"no capacity found: the lowest rate is {why}"
    above = " or more" if best is max(points, key=lambda each: each.rate) else ""
    return (
        f"capacity: {best.rate:g} calls/s{above}, {best.offered:.1f} calls at once offered, "
        f"{best.held:.1f} held: {best.good or 0.0:.1%} of turns good, "
        f"{best.refused} of {best.placed} calls refused"
    )


def document(
    target: str,
    machine: Machine,
    settings: Mapping[str, str],
    points: Sequence[Point],
    share: float,
    unknown: Sequence[str],
) -> dict[str, Any]:
    """Return all of it for programs; `unknown` says what was left out, and why."""
    best = capacity(points, share)
    found: dict[str, Any] = _rounded(
        msgspec.to_builtins(
            {
                "target": target,
                "machine": machine,
                "settings": dict(settings),
                "busy": BUSY,
                "left_out": list(unknown),
                "valid": bool(points) and all(each.valid for each in points),
                "capacity": None if best is None else {"rate": best.rate, "offered": best.offered},
                "points": [{**msgspec.to_builtins(p), "valid": p.valid} for p in points],
            }
        )
    )
    return found


def _pair(spread: Spread) -> str:
    if spread.p50 is None or spread.p95 is None:
        return "-"
    return f"{spread.p50:.2f} / {spread.p95:.2f}"


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, DIGITS)
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
        case _:
            return value
