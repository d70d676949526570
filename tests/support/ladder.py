"""A conversation in text, written as a ladder: who says what, and what is done in between."""

from __future__ import annotations

import re

from tests.support.textcall import TextCall


def hold(call: TextCall, ladder: str) -> None:
    """Hold a conversation and compare it line by line.

    `caller` lines are said; `caller (cut 3)` has heard three words of what the agent said last.
    An `agent` line has what the answer must hold, parts in order with `…` between them.
    A `tool` line has the tools used since the caller spoke, `name` or `name: outcome`, in order.
    `ends` says that the agent hangs up.
    """
    said, mark = "", 0
    for number, line in enumerate(filter(None, map(str.strip, ladder.splitlines())), 1):
        who, _, text = line.partition(" ")
        text = text.strip()
        match who:
            case "caller":
                mark = len(call.used)
                cut = re.match(r"\(cut (\d+)\)\s*(.*)", text)
                said = call.says(cut[2], int(cut[1])) if cut else call.says(text)
            case "agent":
                assert _holds(said, text), f"line {number}: {line!r}, but the agent said {said!r}"
            case "tool":
                used = call.used[mark : mark + 1]
                assert used, f"line {number}: {line!r}, but no tool was used"
                name, _, outcome = text.partition(":")
                assert (used[0].name, used[0].outcome) == (name, outcome.strip() or "done")
                mark += 1
            case "ends":
                assert call.ended, f"line {number}: the call goes on: {said!r}"
            case _:
                raise AssertionError(f"line {number}: {line!r}")
        if who == "agent":
            left = [used.name for used in call.used[mark:] if used.name != "hang_up"]
            assert not left, f"line {number}: tools that the ladder does not have: {left}"


def _holds(said: str, wanted: str) -> bool:
    at = 0
    for part in filter(None, (part.strip() for part in wanted.split("…"))):
        at = said.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return "…" in wanted or said == wanted
