"""Tables for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from bench.turns.dictation import Dictations
from bench.turns.edges import Edges
from bench.turns.ends import Outcome, Summary
from bench.turns.hearing import Price
from bench.turns.noise import Behind
from bench.turns.overlaps import Echoed, Heard
from bench.turns.spans import Budgets

PUBLISHED = (
    ("LiveKit v1", 0.099, 0.045, 0.543, 0.295),
    ("Deepgram Flux", 0.129, 0.099, 1.151, 0.548),
    ("Smart Turn v3.2", 0.352, 0.148, 1.051, 0.739),
    ("silence", 0.556, 0.217, 1.600, 1.000),
)
"""LiveKit's eot-bench, English, on its own recordings (2026): not the ones heard here."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table with columns as wide as they must be."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    written = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    written.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(written)


def percent(share: float) -> str:
    """Write a share; a dash for none."""
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"


def seconds(value: float) -> str:
    """Write seconds; a dash for none."""
    return "-" if math.isnan(value) else f"{value:.2f} s"


def ends(found: Sequence[Summary]) -> str:
    """Tabulate delay and cuts."""
    head = (
        "method",
        "median",
        "95th pct",
        "mean",
        "cut short",
        "natural",
        "cut by tool",
        "midpause",
    )
    return table(
        head,
        (
            (
                each.method,
                seconds(each.median),
                seconds(each.p95),
                seconds(each.mean),
                percent(each.cut),
                each.cut_natural,
                each.cut_tool,
                each.cut_midpause,
            )
            for each in found
        ),
    )


def drafts(found: Sequence[Summary]) -> str:
    """Tabulate what drafts did: each unused one is an extra call of the language model."""
    return table(
        ("method", "drafts started", "used", "dropped", "ahead of the end, median"),
        (
            (
                each.method,
                str(each.drafts),
                str(each.drafts_used),
                str(each.drafts - each.drafts_used),
                f"{1000 * each.draft_saved:.0f} ms",
            )
            for each in found
        ),
    )


def overlaps(found: Sequence[Heard]) -> str:
    """Tabulate what sounds over the agent's voice led to."""
    groups = {
        "back-channels": ("backchannel",),
        "claims": ("interruption", "complete"),
        "noise, tones, music": ("noise", "tone", "music"),
    }
    rows = []
    for name, kinds in groups.items():
        group = [each for each in found if each.kind in kinds]
        silent = sorted(each.silent for each in group if each.silent is not None)
        claimed = sorted(each.claimed for each in group if each.claimed is not None)
        gaps = sorted(each.gap for each in group if each.gap)
        rows.append(
            (
                name,
                str(len(group)),
                f"{len(claimed)} ({percent(len(claimed) / max(1, len(group)))})",
                _spread(silent),
                _spread(claimed),
                f"{len(gaps)}, {_spread(gaps)}" if gaps else "-",
            )
        )
    head = ("sound", "recordings", "took the floor", "agent silent", "decided", "agent paused")
    return table(head, rows)


def _spread(times: Sequence[float]) -> str:
    """Write the median and the 95th percentile of sorted times."""
    if not times:
        return "-"
    middle, high = times[len(times) // 2], times[min(len(times) - 1, int(0.95 * len(times)))]
    return f"{middle:.2f} / {high:.2f} s"


def echoes(found: Sequence[Echoed]) -> str:
    """Tabulate lines with echo."""
    return table(
        (
            "echo",
            "delay",
            "interrupted by it",
            "ducked by it",
            "claims taken",
            "agent silent, 95th pct",
        ),
        (
            (
                f"-{each.loss} dB",
                f"{1000 * each.delay:.0f} ms",
                f"{each.interrupted} of {each.utterances}",
                f"{each.paused} of {each.utterances}",
                f"{each.claimed} of {each.claims}",
                seconds(each.claim_p95),
            )
            for each in found
        ),
    )


def behind(found: Sequence[Behind]) -> str:
    """Tabulate turns with something behind the caller."""
    return table(
        ("behind the caller", "turns", "median", "longest", "not ended", "cut short"),
        (
            (
                each.what,
                str(each.turns),
                seconds(each.median),
                seconds(each.longest),
                str(each.never),
                str(each.cut),
            )
            for each in found
        ),
    )


def dictated(found: Sequence[Dictations]) -> str:
    """Tabulate dictated forms."""
    return table(
        ("profile", "forms", "ended inside", "median after the last group", "95th pct"),
        (
            (
                each.profile,
                str(each.forms),
                str(each.inside),
                seconds(each.median),
                seconds(each.p95),
            )
            for each in found
        ),
    )


def budgets(found: Mapping[str, Budgets]) -> str:
    """Tabulate the figures of published comparisons."""
    head = ("detector", "cut at 300 ms", "cut at 600 ms", "delay at 5 % cut", "delay at 10 % cut")
    rows = [
        (
            name,
            percent(each.cut_at_300),
            percent(each.cut_at_600),
            seconds(each.delay_at_5),
            seconds(each.delay_at_10),
        )
        for name, each in found.items()
    ]
    rows += [
        (f"({name}, elsewhere)", percent(a), percent(b), seconds(c), seconds(d))
        for name, a, b, c, d in PUBLISHED
    ]
    return table(head, rows)


def edges(found: Sequence[Edges]) -> str:
    """Tabulate how far the end of speech is put from where it is marked."""
    return table(
        ("end of speech by", "recordings", "10th pct", "median", "90th pct"),
        (
            (
                each.by,
                str(each.recordings),
                *(f"{1000 * value:+.0f} ms" for value in (each.low, each.median, each.high)),
            )
            for each in found
        ),
    )


def habits(found: Mapping[float, tuple[int, int]]) -> str:
    """Tabulate how a pause compares with the longest before it in the same turn."""
    return table(
        ("no longer than the longest before, times", "pauses"),
        ((f"{factor:.1f}", f"{count} of {all_}") for factor, (count, all_) in found.items()),
    )


def misses(results: Sequence[Outcome]) -> str:
    """List the recordings in which the default setting was wrong or slow."""
    rows = []
    for each in results:
        slow = each.delay is not None and each.delay > 1.2
        if not each.cut and not slow:
            continue
        what = "cut short" if each.cut else f"{each.delay:.2f} s late"
        when = "not ended" if each.at is None else f"{each.at:.2f} s of {each.recording.end:.2f} s"
        rows.append((each.recording.file, what, when, each.why, each.recording.transcript[:60]))
    return table(("recording", "what", "ended at", "by", "words"), rows)


def costs(prices: Mapping[str, Price]) -> str:
    """Tabulate what was asked in the whole run and what each question cost."""
    return table(
        ("model", "asked", "processor time each", "sound each"),
        (
            (
                name,
                str(each.questions),
                f"{each.each_ms:.0f} ms",
                f"{each.sound / max(1, each.questions):.1f} s",
            )
            for name, each in prices.items()
        ),
    )
