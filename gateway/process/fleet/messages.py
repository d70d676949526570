"""What the supervisor and its processes say to each other."""

from __future__ import annotations

from typing import Literal

import msgspec

LineState = Literal["ready", "note", "off"]


class Message(msgspec.Struct, frozen=True, tag=True):
    """One message."""


# --- to a process --------------------------------------------------------------------------------


class Born(Message, frozen=True):
    """Be the process of this number; the sockets to listen on come along."""

    number: int
    of: int
    started: float
    "wall clock, when the supervisor began"
    began: float
    "the same, when this process is told so"
    secret: str
    "what all processes sign with"
    again: bool
    "it takes the place of one that was lost"
    made_of: bytes
    "the settings and the owner, as `pickle` writes them"


class Take(Message, frozen=True):
    """Serve a connection that came to another process; it comes along."""

    data: bytes
    "what was read of its request"


class Board(Message, frozen=True):
    """How all processes stand."""

    standings: dict[int, Standing]


class Changed(Message, frozen=True):
    """The settings were read again."""

    settings: bytes
    "as `pickle` writes them"


class Named(Message, frozen=True):
    """A call has this name in the log: no other may have it."""

    name: str


class Down(Message, frozen=True):
    """What the front of a line says to its part in a process."""

    line: str
    said: bytes


class ShowPage(Message, frozen=True):
    """Give your metrics to another process, which asks for them under this number."""

    to: int
    asked: int


class Page(Message, frozen=True):
    """The metrics of a process, compressed: they may be more than a message takes."""

    number: int
    asked: int
    text: bytes


# --- to the supervisor ---------------------------------------------------------------------------


class Up(Message, frozen=True):
    """Calls can come."""

    address: str


class HandOver(Message, frozen=True):
    """Give a connection to another process; it comes along."""

    to: int
    data: bytes


class Standing(Message, frozen=True):
    """How a process stands."""

    pid: int
    ready: bool
    draining: bool
    load: int
    "calls in progress, and places that are kept for calls"
    refusal: tuple[str, str, int] | None
    "kind, cause and seconds to wait of the refusal that a call would meet now"
    calls: dict[str, int]
    "in progress, by line"
    lines: dict[str, tuple[LineState, str]]
    "state and words of each line"
    parts: dict[str, tuple[bool, str]]
    "how what it stands on does"
    figures: bytes
    "for the owner, as JSON"


class Said(Message, frozen=True):
    """What a line's part in a process says to its front."""

    line: str
    said: bytes


class AskPages(Message, frozen=True):
    """Have all others give this process their metrics, under a number of its own."""

    asked: int


class GivePage(Message, frozen=True):
    """Give a page to the process that asked."""

    to: int
    asked: int
    text: bytes


ToProcess = Born | Take | Board | Named | Down | ShowPage | Page | Changed
ToSupervisor = Up | HandOver | Standing | Named | Said | AskPages | GivePage

encode = msgspec.msgpack.Encoder().encode
to_process = msgspec.msgpack.Decoder(ToProcess)
to_supervisor = msgspec.msgpack.Decoder(ToSupervisor)
