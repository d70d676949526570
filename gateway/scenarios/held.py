"""A call with sound as it was held: what was said, heard and done, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.events import Json
from gateway.log_events import LogEvent, fields_of, name_of
from gateway.scenarios.sound_leg import Stretch
from gateway.scenarios.sound_parts import Notes
from gateway.scenarios.text_call import Used


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn of the caller's, or a sound of theirs that is none; in seconds of the call's clock."""

    kind: str
    "`turn`, `cut_in`, or the kind of a sound"
    start: float
    end: float


@dataclass(slots=True)
class Held:
    """A call as it was held."""

    spoken: list[Spoken] = field(default_factory=list)
    lines: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)
    "of the call log"
    used: list[tuple[float, Used]] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    sent: list[tuple[float, bytes]] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    began: float = 0.0
    ended: float | None = None
    "when the agent hung up"
    undone: list[tuple[int, str]] = field(default_factory=list)
    "what the caller was to do and did not: the line in the file, and why"
    waiting: int = 0
    "samples of the agent's speech that it did not wait for"

    def write(self, event: LogEvent) -> None:
        """Take a line of the call log."""
        now = asyncio.get_running_loop().time()
        self.lines.append((now, name_of(event), fields_of(event)))


def pieces(held: Held) -> list[tuple[float, str]]:
    """Return what was heard of the agent, each piece with the moment at which it began."""
    found: list[tuple[float, str]] = []
    for at, name, fields in held.lines:
        match name:
            case "agent_spoke":
                found.append((at - float(fields["seconds"]), str(fields["text"])))
            case "interrupted" if fields["heard_text"]:
                found.append((at - float(fields["heard"]), str(fields["heard_text"])))
            case _:
                pass
    return sorted(found)


def call_tools(held: Held, known: Mapping[str, object]) -> list[tuple[float, Used]]:
    """Return the tools that acted on the call itself, such as a hang-up."""
    asked: dict[str, Json] = {}
    found: list[tuple[float, Used]] = []
    for at, name, fields in held.lines:
        if name != "tool" or fields["name"] in known:
            continue
        ask, outcome = str(fields.get("ask", "")), str(fields["outcome"])
        if outcome == "asked":
            asked[ask] = dict(fields.get("arguments") or {})
        if outcome in ("done", "failed", "refused"):
            found.append((at, Used(str(fields["name"]), asked.get(ask, {}), outcome, {})))
    return found
