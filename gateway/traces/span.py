"""A span, before it is anybody's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Span:
    """What took time."""

    name: str
    trace: str
    id: str
    parent: str
    "empty: none"
    start: float
    "wall clock, seconds"
    end: float
    client: bool
    "somebody else did it"
    attributes: Mapping[str, Value]
    error: str = ""
