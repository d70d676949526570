"""Prints what was measured, for people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.calls.cutins import CutIns
from bench.calls.load import Load
from bench.calls.response import Answer, Responses
from bench.calls.soak import Soak

Result = Responses | CutIns | Load | Soak


def table(result: Result) -> list[str]:
    """Return the lines that tell a result."""
    match result:
        case Responses():
            return _responses(result)
        case CutIns():
            return _cut_ins(result)
        case Load():
            return _load(result)
        case Soak():
            return _soak(result)


def _responses(found: Responses) -> list[str]:
    lines = ["", "Response, seconds", f"{'':36} far end    log   off  ended by   stages"]
    for title, answers in (("turn-taking", found.detector), ("timer", found.timer)):
        lines.append(f"{title}:")
        lines += [f"  {_answer(each)}" for each in answers]
    every = [*found.detector, *found.timer]
    answered = sum(each.far is not None for each in every)
    off = [abs(each.difference) for each in every if each.difference is not None]
    worst = max(off, default=float("nan"))
    lines.append(f"{answered} of {len(every)} calls answered; log and far end within {worst:.3f} s")
    ratio = found.median / found.timer_median
    lines.append(
        f"median {found.median:.3f} s, timer {found.timer_median:.3f} s, ratio {ratio:.2f}"
    )
    return lines


def _answer(each: Answer) -> str:
    stages = " + ".join(f"{seconds:.2f}" for seconds in each.stages.values())
    figures = " ".join(_seconds(value) for value in (each.far, each.logged, each.difference))
    return f"{each.said:36} {figures}  {each.why:9} {stages}"


def _seconds(value: float | None) -> str:
    return "    --" if value is None else f"{value:6.3f}"


def _cut_ins(found: CutIns) -> list[str]:
    lines = ["", "Cut-ins, seconds", f"{'':36}     at   stop  heard  found    off"]
    for each in found.cuts:
        off = each.off
        figures = (each.at, each.outcome.stop_delay, each.logged, each.found, off)
        shown = " ".join(_seconds(value) for value in figures)
        lines.append(f"  {each.said:34} {shown}  {each.evidence}")
    delays = found.delays
    middle = float(np.median(delays)) if delays else float("nan")
    lines.append(
        f"stop delay of {len(delays)}: median {middle:.3f} s, 95th percentile {found.p95:.3f} s"
    )
    lines.append(f"audible after a clear: {found.after_clear:.3f} s")
    return lines


def _load(found: Load) -> list[str]:
    late = 100 * found.late_ticks / max(1, found.ticks)
    far = 100 * found.late_frames / max(1, found.frames)
    threads = ", ".join(
        f"{name} {seconds * 1000:.2f}" for name, seconds in found.threads.items() if seconds > 1e-5
    )
    return [
        "",
        f"{found.calls} calls at once on one core for {found.seconds:.0f} s",
        f"  missing frames {found.missing_frames}; over 5 ms late: {late:.2f} % of ticks, "
        f"{far:.2f} % of {found.frames} frames at the far end "
        f"(whose own clock: 99 % within {found.caller_late * 1000:.1f} ms)",
        f"  processor ms per call and second: {found.own * 1000:.2f} outside the models, "
        f"{found.models * 1000:.2f} in them ({threads})",
        f"  memory {found.memory:.2f} MB per further call",
        f"  {found.answered} of {found.turns} turns answered",
    ]


def _soak(found: Soak) -> list[str]:
    return [
        "",
        f"{found.calls} calls in {found.seconds:.0f} s: "
        f"{found.answered} answered, {found.refused} refused",
        *(_held("after the first hundred", found.early), _held("after the last", found.late)),
    ]


def _held(when: str, held: object) -> str:
    names: Sequence[str] = ("memory", "files", "threads", "tasks")
    shown = ", ".join(f"{name} {getattr(held, name):.0f}" for name in names)
    return f"  {when}: {shown}"
