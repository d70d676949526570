"""Whom an agent may put callers through to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.doors.callees import allowed, plain


@dataclass(frozen=True, slots=True)
class Targets:
    """Names, and patterns of numbers and addresses; nothing else is ever called."""

    names: Mapping[str, str] = field(default_factory=dict)
    "the number or address behind each"
    patterns: tuple[str, ...] = ()

    def find(self, wanted: str) -> str | None:
        """Return what a model means by a target, or None where it may not be called."""
        wanted = wanted.strip()
        for name, to in self.names.items():
            if wanted.casefold() == name.casefold() or wanted == to:
                return to
        try:
            target = plain(wanted)
        except ValueError:
            return None
        return target if allowed(target, self.patterns) else None

    def said(self) -> str:
        """Tell the model what may stand in the place of a target."""
        return ", ".join([*sorted(self.names), *self.patterns]) or "nobody"
