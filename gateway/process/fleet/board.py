"""How all processes stand, who is to have the next call, and what is said of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gateway.plumbing.wire_json import parse
from gateway.process.fleet.messages import LineState, Standing


class Board:
    """Holds the latest standing of each process, and what was given to it since."""

    def __init__(self, of: int = 1, own: int = 0) -> None:
        """`of` says how many processes there are to be, `own` which one this is, if it is one."""
        self._of = of
        self._own = own
        self.standings: Mapping[int, Standing] = {}
        self._given: Counter[int] = Counter()

    def take(self, standings: Mapping[int, Standing]) -> None:
        """Take how all stand by now."""
        self.standings = dict(standings)
        self._given.clear()

    def lost(self, number: int) -> None:
        """Take that a process is gone."""
        self.standings = {n: one for n, one in self.standings.items() if n != number}

    def choose(self) -> int | None:
        """Return the process that is to have the next call; None: none can take any.

        That is the one with the fewest calls among those that would take one; where none would,
        one that says why.
        """
        ready = {n: one for n, one in self.standings.items() if one.ready}
        taking = {n: one for n, one in ready.items() if one.refusal is None} or ready
        if not taking:
            return None
        # Of equals one's own comes first: others choose at the same moment.
        chosen = min(
            taking, key=lambda n: (taking[n].load + self._given[n], (n - self._own) % self._of)
        )
        self._given[chosen] += 1
        return chosen

    def refusal(self) -> tuple[str, str, int] | None:
        """Return why a call would be refused, where no process would take it."""
        ready = [one for one in self.standings.values() if one.ready]
        if any(one.refusal is None for one in ready):
            return None
        return next((one.refusal for one in ready), ("busy", "starting", 5))

    def draining(self) -> bool:
        """Return whether no process answers new calls any more."""
        return bool(self.standings) and all(one.draining for one in self.standings.values())

    def calls(self) -> Counter[str]:
        """Count the calls in progress by line."""
        return sum((Counter(one.calls) for one in self.standings.values()), Counter[str]())

    def lines(self) -> dict[str, tuple[LineState, str]]:
        """Return how each line stands: as in the first process, unless another says something.

        That one keeps the registrations.
        """
        found: dict[str, tuple[LineState, str]] = {}
        for number in sorted(self.standings):
            for name, said in self.standings[number].lines.items():
                if name not in found or (said[0] == "note" and found[name][0] != "note"):
                    found[name] = said
        return found

    def well(self) -> bool:
        """Return whether every part of every process does well."""
        return all(well for one in self.standings.values() for well, _ in one.parts.values())

    def figures(self) -> dict[str, Any]:
        """Return the figures of all processes together, and each one's own."""
        each = {n: _figures(one) for n, one in sorted(self.standings.items())}
        parts: dict[str, dict[str, object]] = {}
        for number, one in sorted(self.standings.items()):
            for name, (well, said) in one.parts.items():
                if name not in parts or (parts[name]["well"] and not well):
                    whose = "" if well or self._of == 1 else f"process {number}: "
                    parts[name] = {"well": well, "said": whose + said}
        if self._of == 1:
            return {"parts": parts, **each.get(0, {})}
        return {
            "parts": parts,
            **together(list(each.values())),
            "processes": [
                {"number": n, "pid": self.standings[n].pid, **figures}
                for n, figures in each.items()
            ],
        }


def _figures(one: Standing) -> dict[str, Any]:
    found = parse(one.figures)
    return found if isinstance(found, dict) else {}


WORST = ("latest_tick", "longest", "seconds", "ago")
"""Figures of which the largest counts."""


def together(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add figures up by their names, tables of figures too; what is no figure is each one's own."""
    added: dict[str, Any] = {}
    for one in figures:
        for name, value in one.items():
            if isinstance(value, bool):
                continue
            before = added.get(name)
            if isinstance(value, dict):
                added[name] = together([before or {}, value])
            elif isinstance(value, int | float):
                added[name] = max(before or 0, value) if name in WORST else (before or 0) + value
    return added
