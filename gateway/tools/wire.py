"""What is said between the gateway and a process that runs an agent's Python tools: JSON lines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from gateway.events import CallInfo, Json
from gateway.ports import ToolSpec
from gateway.tools.hours import OpeningHours

LINE_MOST = 1 << 20
"""Bytes of one line; an answer has at most some 100 thousand."""


class Use(msgspec.Struct, tag=True, frozen=True):
    """Run a function."""

    ask: int
    function: str
    spec: ToolSpec
    arguments: dict[str, Any]
    call: CallInfo
    began: datetime
    hours: OpeningHours
    variables: dict[str, str]
    key: str
    store: str
    "path of the agent's store"


class Stop(msgspec.Struct, tag=True, frozen=True):
    """Nobody waits for it any more."""

    ask: int


class Done(msgspec.Struct, tag=True, frozen=True):
    """It gave this."""

    ask: int
    result: Json


class Failed(msgspec.Struct, tag=True, frozen=True):
    """It could not be done, and said why."""

    ask: int
    code: str
    message: str
    uncertain: bool


class Broke(msgspec.Struct, tag=True, frozen=True):
    """It raised something else."""

    ask: int
    error: str
    "the kind that was raised, and not its words: they may hold what the caller said"


class Stopped(msgspec.Struct, tag=True, frozen=True):
    """It was let go of."""

    ask: int


class Described(msgspec.Struct, frozen=True):
    """What a function of a file is as a tool, or what is wrong with it or the file."""

    spec: ToolSpec | None = None
    wrong: str = ""


Request = Use | Stop
Answer = Done | Failed | Broke | Stopped
