"""What things are called on the bus, for those who publish and those who ask."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_=-]{0,199}")
"""Calls whose names may stand in a subject and be a key of a bucket as they are."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that begin with `bus.name`."""

    root: str

    @property
    def stream(self) -> str:
        """The JetStream that has the events."""
        return f"{self.root}-events"

    @property
    def subjects(self) -> str:
        """All events, for a subscriber."""
        return f"{self.root}.events.>"

    @property
    def calls(self) -> str:
        """The bucket that says who has which call."""
        return f"{self.root}-calls"

    @property
    def dial(self) -> str:
        """Where any gateway is asked to place a call."""
        return f"{self.root}.dial"

    def event(self, call: str, kind: str) -> str:
        """Return the subject of an event: `parley.events.CALL.KIND`."""
        return f"{self.root}.events.{key(call)}.{kind}"

    def node(self, node: str) -> str:
        """Return where a gateway is asked about the calls that it has."""
        return f"{self.root}.node.{node}"


def key(call: str) -> str:
    """Return a call's name as one token: `=` and base64 where need be, `-` for none."""
    if not call:
        return "-"
    if PLAIN.fullmatch(call) and call != "-":
        return call
    return "=" + base64.urlsafe_b64encode(call.encode("utf-8", "surrogatepass")).decode().rstrip(
        "="
    )


def node_name(host: str, process: int) -> str:
    """Return what a process is called: its machine, and which one there."""
    return f"{re.sub(r'[^A-Za-z0-9_-]', '-', host)[:32] or 'host'}-{process}"
