"""What a replay with other settings prints, for people and as documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gateway.replay.whatif.run import Outcome
from gateway.replay.whatif.story import Turn
from gateway.replay.whatif.verdict import Figures, Sum, now_of, pairs, then_of


def call_lines(outcome: Outcome) -> Iterator[str]:
    """Write one call, a line a turn."""
    rows = pairs(outcome)
    judged = then_of(outcome).turns
    held = sum(each.heard is not None for each in outcome.then.turns)
    yield f"{outcome.call}  {outcome.seconds:.1f} s, {judged} of {held} turns judged"
    for row in rows:
        end = (row.then or row.now).end - outcome.begun  # type: ignore[union-attr]
        yield f"  {end:7.2f} s   then {_turn(row.then):<26} now {_turn(row.now)}".rstrip()
    if outcome.diverged is not None:
        at = outcome.diverged.at - outcome.begun
        yield f"  diverged at {at:.2f} s: {outcome.diverged.why}; nothing is judged after it"


def _turn(turn: Turn | None) -> str:
    if turn is None:
        return "not ended here"
    told = "" if turn.response is None else f"{turn.response:.2f} s"
    return told + (", cut short" if turn.cut_short else "") + (", drafted" if turn.drafted else "")


ROWS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("turns answered", lambda f: str(f.turns)),
    ("response, median", lambda f: _seconds(f.median)),
    ("response, 95th percentile", lambda f: _seconds(f.tail)),
    ("turns cut short", lambda f: str(f.cut_short)),
    ("cut-ins of the caller", lambda f: str(f.cut_ins)),
    ("back-channels and other sounds", lambda f: str(f.backchannels)),
    ("drafts begun", lambda f: str(f.drafts)),
    ("drafts used", lambda f: str(f.drafts_used)),
    ("calls of the model", lambda f: str(f.model_calls)),
)


def sum_lines(found: Sum) -> Iterator[str]:
    """Write many calls together."""
    more = f", {found.diverged} diverged" if found.diverged else ""
    yield (
        f"{found.calls} calls{more}: {found.then.turns} of {found.held} turns judged, and on them:"
    )
    yield f"  {'':<32}{'then':>10}{'now':>10}"
    for name, of in ROWS:
        yield f"  {name:<32}{of(found.then):>10}{of(found.now):>10}"
    yield f"  answers came from: {sources(found.sources)}"


def sweep_lines(name: str, rows: Sequence[tuple[str, Sum]], today: str) -> Iterator[str]:
    """Write a table of a setting's values."""
    yield (
        f"{name:<20}{'judged':>8}{'median':>10}{'95th':>10}{'cut short':>12}{'cut-ins':>9}"
        f"{'drafts':>8}{'calls':>7}"
    )
    for value, found in rows:
        now = found.now
        mark = "  (as recorded)" if value == today else ""
        yield (
            f"{value:<20}{found.then.turns:>8}{_seconds(now.median):>10}{_seconds(now.tail):>10}"
            f"{f'{now.cut_short} of {now.turns}':>12}{now.cut_ins:>9}{now.drafts:>8}"
            f"{now.model_calls:>7}{mark}"
        )


def sources(found: Counter[str]) -> str:
    """Say where answers came from."""
    return ", ".join(f"{name} {count}" for name, count in sorted(found.items()) if count)


def document(outcome: Outcome) -> dict[str, Any]:
    """Return one call as a document."""
    diverged = outcome.diverged
    return {
        "call": outcome.call,
        "seconds": round(outcome.seconds, 3),
        "turns": [
            {"then": _document(row.then, outcome), "now": _document(row.now, outcome)}
            for row in pairs(outcome)
        ],
        "then": figures(then_of(outcome)),
        "now": figures(now_of(outcome)),
        "diverged_at": None if diverged is None else round(diverged.at - outcome.begun, 3),
        "why": None if diverged is None else diverged.why,
        "sources": dict(outcome.sources),
    }


def sum_document(found: Sum) -> dict[str, Any]:
    """Return many calls as a document."""
    return {
        "calls": found.calls,
        "diverged": found.diverged,
        "turns_held": found.held,
        "turns_judged": found.then.turns,
        "then": figures(found.then),
        "now": figures(found.now),
        "sources": dict(found.sources),
    }


def figures(found: Figures) -> dict[str, Any]:
    """Return figures as a document."""
    return {
        "turns": found.turns,
        "response_median": _rounded(found.median),
        "response_95": _rounded(found.tail),
        "cut_short": found.cut_short,
        "cut_ins": found.cut_ins,
        "backchannels": found.backchannels,
        "drafts": found.drafts,
        "drafts_used": found.drafts_used,
        "model_calls": found.model_calls,
    }


def _document(turn: Turn | None, outcome: Outcome) -> dict[str, Any] | None:
    if turn is None:
        return None
    return {
        "end": round(turn.end - outcome.begun, 3),
        "why": turn.why,
        "response": _rounded(turn.response),
        "drafted": turn.drafted,
        "cut_short": turn.cut_short,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _seconds(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f} s"
