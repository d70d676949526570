"""The writes of a call: begun one after another in the order they were asked, each of them once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from gateway.events import Json, Outcome
from gateway.ports import ToolSpec

MOST_SECONDS = 60.0
"""A write of which nothing was heard for so long is given up as uncertain, so that the ones behind
it are not lost; what it says later is still told."""


def write_key(call_id: str, name: str, arguments: Json, before: int) -> str:
    """Make the idempotency key of a write.

    `before` counts the deeds before it: the same thing wanted twice is two deeds.
    """
    parts = [call_id, name, arguments, before]
    deed = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(deed.encode()).hexdigest()[:32]


@dataclass(slots=True)
class Deed:
    """One write, from the moment nothing stands in its way any more to its last outcome."""

    run: str
    "its id in the call"
    spec: ToolSpec
    arguments: Json
    key: str
    replies: set[int]
    "the replies in which it is this deed that is meant when it is asked for again"
    agreed: bool = False
    "the caller said yes to it: whatever happens, it is done"
    state: Literal["queued", "running", "over"] = "queued"
    started: float = 0.0
    due: float | None = None
    "loop seconds at which those who wait are told that it goes on"
    late: bool = False
    "it was told that it goes on"
    given_up: bool = False
    "it was over for those behind it before it was"
    result: Json = field(default_factory=dict)
    outcome: Outcome = "done"
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.spec.name

    def finish(self, result: Json, outcome: Outcome, now: float) -> None:
        """Take its outcome."""
        self.state, self.due = "over", None
        self.result, self.outcome = result, outcome
        self.seconds = now - self.started


@dataclass(slots=True)
class Deeds:
    """Every write of a call that was not in vain, in order."""

    call_id: str
    _all: list[Deed] = field(default_factory=list)

    def add(self, run: str, spec: ToolSpec, arguments: Json, reply: int, *, agreed: bool) -> Deed:
        """Put a write at the end of the queue.

        One that repeats what failed, or may have happened, has that one's key: whoever does it can
        tell that it is the same.
        """
        alike = [d for d in self._all if d.name == spec.name and d.arguments == arguments]
        again = bool(alike) and alike[-1].outcome in ("failed", "uncertain")
        before = len({deed.key for deed in self._all})
        key = alike[-1].key if again else write_key(self.call_id, spec.name, arguments, before)
        deed = Deed(run, spec, arguments, key, {reply}, agreed)
        self._all.append(deed)
        return deed

    def same(self, name: str, arguments: Json, reply: int) -> Deed | None:
        """Find the deed that a request means: one of its own reply's, or one not yet over."""
        for deed in reversed(self._all):
            meant = reply in deed.replies or deed.state != "over"
            if meant and deed.name == name and deed.arguments == arguments:
                return deed
        return None

    def next(self) -> Deed | None:
        """Return the deed whose turn it is; None: another is at work, or none is left."""
        for deed in self._all:
            if deed.state == "running":
                return None
            if deed.state == "queued":
                return deed
        return None

    def find(self, run: str) -> Deed | None:
        """Find a deed that has begun and whose own word of its end is not in."""
        for deed in self._all:
            if deed.run == run and (deed.state == "running" or deed.given_up):
                return deed
        return None

    def unfinished(self) -> list[Deed]:
        """List what is queued or at work."""
        return [deed for deed in self._all if deed.state != "over"]

    def forget(self, deed: Deed) -> None:
        """Take back one that was never begun."""
        self._all.remove(deed)

    def __iter__(self) -> Iterator[Deed]:
        return iter(tuple(self._all))
