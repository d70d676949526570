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
from gateway.plumbing.seat import ALONE, Seat
from gateway.ports import CallTaker

if TYPE_CHECKING:
    import asyncio

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
class ForName:
    """A request is for the process that drew this name."""

    name: str


@dataclass(frozen=True, slots=True)
class ForNewCall:
    """A request begins a call: whichever process has most room may take it."""


@dataclass(frozen=True, slots=True)
class ForFirst:
    """A request is for the one process that counts something for all."""


Meant = ForName | ForNewCall | ForFirst
"""Which of the gateway's processes a request is for."""


class Wire(Protocol):
    """Leads from a line's part in one process to its front."""

    def send(self, message: bytes) -> None:
        """Tell the front, without waiting."""

    def listen(self, receive: Callable[[bytes], None]) -> None:
        """Give what the front says to `receive` from now on, what it has said first."""


class Front(Protocol):
    """What is run once, in front of a line's parts in several processes: sockets that they share.

    It runs in the supervisor, so that it must be small: nothing it does may fail or take long.
    """

    async def open(self, group: asyncio.TaskGroup) -> None:
        """Take the line's ports; raises StartFailed."""

    def joined(self, number: int) -> None:
        """Take that there is a process of this number now."""

    def said(self, number: int, message: bytes) -> None:
        """Take what the line's part in a process says."""

    def lost(self, number: int) -> None:
        """Take that a process is gone, with all its calls."""

    async def close(self) -> None:
        """Let the ports go."""


@dataclass(frozen=True, slots=True)
class FrontNeeds:
    """What a front is given."""

    tell: Callable[[int, bytes], None]
    "says something to the line's part in a process"
    choose: Callable[[], int | None]
    "gives the process that is to have the next call; None: there is none at all"


@dataclass(frozen=True, slots=True)
class LineNeeds:
    """What a line is given of the gateway."""

    answer: CallTaker
    agent: str
    "answers where nothing names another"
    doors: Doors
    "judges who may come in over HTTP"
    speak: Speak
    seat: Seat = ALONE
    "draws the names by which requests find back to this process"
    wire: Wire | None = None
    "to the line's front; None: there is none, and the line has its sockets itself"


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
        """Return what the line serves on the gateway's HTTP port."""

    def sockets(self) -> Mapping[str, SocketDoor]:
        """Return who takes the WebSockets of that port, by their path."""

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until `stop`, then say goodbye to whoever is left.

        Call `ready` once calls can come; raise OSError where they cannot, as when a port is taken.
        """

    def drain(self) -> None:
        """Take that no more calls are answered, while those in progress go on."""

    def stop(self) -> None:
        """Let `run` end."""

    def standing(self) -> Standing:
        """Return how the line stands now."""


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
    meant: Callable[[str, str, Mapping[str, str]], Meant | None] = lambda *_asked: None
    """which process a request is for, by method, path and headers (in lower case); None: it is not
    the line's, or any may answer it"""
    front: Callable[[S, FrontNeeds], Front] | None = None
    "makes what several processes share of the line; None: they share the HTTP port alone"
