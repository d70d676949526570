"""What is said over the bus, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec


class Held(msgspec.Struct, frozen=True):
    """A call in progress, as the bucket has it; nothing of it is personal."""

    call: str
    node: str
    line: str
    direction: str
    agent: str
    since: str
    "RFC 3339"


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be done to a call, asked of the gateway that has it."""

    act: Literal["hang_up", "transfer"]
    call: str
    by: str
    to: str = ""


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that any gateway may place."""

    to: str
    agent: str = ""
    trunk: str = ""
    caller_id: str = ""
    variables: Mapping[str, str] = {}


class Answer(msgspec.Struct, frozen=True):
    """What became of a command."""

    error: str = ""
    "empty: it was done"


read_held = msgspec.json.Decoder(Held)
read_command = msgspec.json.Decoder(Command)
read_order = msgspec.json.Decoder(Order)
read_answer = msgspec.json.Decoder(Answer)
