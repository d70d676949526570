"""What the operator decides about the bus."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

SCHEMES = ("nats", "tls", "ws", "wss")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")


@dataclass(frozen=True, slots=True)
class BusSettings:
    """Events of calls on JetStream, who has which call, and commands from any machine."""

    url: str = ""
    "of a NATS server, several with commas; empty: none"
    name: str = "parley"
    "what its stream, its bucket and its subjects begin with; the same on all machines"
    node: str = ""
    "what this machine is called there; empty: its host name"
    events: tuple[str, ...] = (
        "call_started",
        "call_refused",
        "call_failed",
        "transfer",
        "call_ended",
        "call_summary",
    )
    "lines of the call log that are published"
    mask: Literal["none", "partial", "full"] = "none"
    "what is personal in them, as for the log"
    commands: bool = False
    "whether whoever may use the bus may hang up, put through and place calls"
    spool_most: Annotated[int, Meta(ge=1, le=10_000_000)] = 100_000
    "events that may wait on the disk, in `agents.data`; what comes then is dropped and counted"
    keep_hours: Annotated[float, Meta(gt=0, le=720)] = 72.0
    "for how long the stream that is made keeps an event; one that is there already stays as it is"
    user: str = ""
    "who the gateway is to the server; empty: nobody, or whoever has the token"
    password: str = field(default="", repr=False, metadata={"env": "PARLEY_BUS_PASSWORD"})
    "of `bus.user`"
    token: str = field(default="", repr=False, metadata={"env": "PARLEY_BUS_TOKEN"})
    "what the server takes instead of a user"

    @property
    def servers(self) -> list[str]:
        """The addresses one by one."""
        return [each.strip() for each in self.url.split(",")]

    def problem(self, known: tuple[str, ...]) -> str:
        """Return what is wrong; `known` are the events there are. Empty: nothing."""
        if not self.url:
            return ""
        for server in self.servers:
            parts = urlsplit(server)
            if parts.scheme not in SCHEMES or not parts.hostname:
                allowed = ", ".join(f"{each}://HOST:PORT" for each in SCHEMES)
                return f"bus.url: {server!r} is none of {allowed}"
            if parts.password:
                return "bus.url: a password has no place in a file; use PARLEY_BUS_PASSWORD"
        for setting, value in (("name", self.name), ("node", self.node)):
            if value and not _NAME.fullmatch(value):
                return f"bus.{setting}: {value!r} has more than letters, digits, - and _"
        if not self.name:
            return "bus.name: it is empty"
        if strange := [each for each in self.events if each not in known]:
            there = ", ".join(known)
            return f"bus.events: there is no event {strange[0]!r}; there are {there}"
        if self.user and not self.password:
            return "bus.user is set, and PARLEY_BUS_PASSWORD is not"
        return ""
