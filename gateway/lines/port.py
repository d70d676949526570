"""The port of a line: what a way in offers the gateway, and what the gateway offers it.

A carrier is a folder with a `kind.py`, and a row of the table in `gateway/lines/table.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from gateway.doors.judgement import Doors
from gateway.doors.table import Who
from gateway.ports import CallTaker

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from starlette.routing import BaseRoute

    from gateway.lines.websocket.upgrade import SocketDoor

    S = TypeVar("S", bound="DataclassInstance")
else:
    S = TypeVar("S")

Said = tuple[Literal["good", "note", "wrong"], str]
"""What a look at a line found: it works; it works, and somebody should know; calls cannot come."""

Speak = Callable[[str, str, int], Awaitable[bytes]]
"""Gives the sound of words in an agent's voice as 16-bit samples, at a rate; raises OSError."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the gateway listens for HTTP."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class LineNeeds:
    """What a line is given of the gateway."""

    answer: CallTaker
    agent: str
    "answers where nothing names another"
    doors: Doors
    "judges who may come in over HTTP"
    speak: Speak


@dataclass(frozen=True, slots=True)
class Standing:
    """How a line stands, for the people who watch it."""

    state: Literal["ready", "note", "off"]
    "`note`: it serves, and something about it keeps calls away"
    said: str
    "in a few words"
    unregistered: int = 0
    "accounts that are not registered as they should be"


class Line(Protocol):
    """One way in, which gives its callers' legs to `CallTaker`.

    Made on the running loop, asked for its routes and sockets, then run.
    """

    def routes(self) -> Sequence[BaseRoute]:
        """Give what the line serves on the gateway's HTTP port."""

    def sockets(self) -> Mapping[str, SocketDoor]:
        """Give who takes the WebSockets of that port, by their path."""

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until `stop`, then say goodbye to whoever is left.

        Call `ready` once calls can come; raise OSError where they cannot, as when a port is taken.
        """

    def drain(self) -> None:
        """Take that no more calls are answered, while those in progress go on."""

    def stop(self) -> None:
        """Let `run` end."""

    def standing(self) -> Standing:
        """Say how the line stands now."""


@dataclass(frozen=True, slots=True)
class LineKind(Generic[S]):
    """What is known of a line before there is one: a row of the table.

    Everybody imports it for the settings, so that what it is made by imports the line only then.
    """

    settings: type[S]
    "each has a default"
    make: Callable[[S, LineNeeds], Line]
    checks: Callable[[S, Place], Iterator[Said]]
    "looks at what calls would need; asked only where the line is on"
    off: Callable[[S], str] = lambda _settings: ""
    "why there is no such line, naming the setting; empty: there is"
    keys: Callable[[S], Mapping[Who, str]] = lambda _settings: {}
    "that open its doors to programs, by what these are let in as (`gateway/doors/table.py`)"
    certificates: Callable[[S], Mapping[str, FilePath]] = lambda _settings: {}
    "that the line shows to others, by their setting: somebody must know when they run out"
    rates: Callable[[S], tuple[int, ...]] = lambda _settings: ()
    "at which callers will want an agent's fixed lines at once, besides a telephone's"
