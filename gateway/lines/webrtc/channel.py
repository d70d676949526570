"""What page and gateway tell each other beside the sound: versioned JSON, one object a message.

docs/webrtc.md describes it for whoever writes a page of their own.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gateway.plumbing.wire_json import decode as decode_json

TEXT_MOST = 2000
"""Characters that a visitor may type at once."""

KEYS_MOST = 32


# --- to the page ---------------------------------------------------------------------------------


class _Ours(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=False):
    v: Literal[1] = 1


class Hello(_Ours, frozen=True, tag="hello", kw_only=True):
    """The first message: who answers, and for how long at most."""

    call: str
    agent: str
    seconds: float


class State(_Ours, frozen=True, tag="state", kw_only=True):
    """What the agent is doing."""

    state: Literal["listening", "thinking", "speaking", "waiting"]
    "`waiting`: the connection is interrupted, and the call waits"


class Caption(_Ours, frozen=True, tag="caption", kw_only=True):
    """Words as they were heard; a later caption of the same id and speaker takes its place."""

    who: Literal["agent", "caller"]
    id: int
    text: str
    final: bool = False
    interrupted: bool = False
    "the agent meant to say more"


class Tool(_Ours, frozen=True, tag="tool", kw_only=True):
    """The agent does something besides talking."""

    name: str
    state: Literal["began", "done", "failed"]


class Proposal(_Ours, frozen=True, tag="proposal", kw_only=True):
    """Something is to be done that needs the visitor's yes; a button may answer it."""

    id: str
    text: str = ""
    "the question"
    state: Literal["asked", "over"]
    "`over`: it was answered, or is not asked any more"


class Use(_Ours, frozen=True, tag="use", kw_only=True):
    """The agent wants something done that the page does; it answers by `used`."""

    id: str
    name: str
    arguments: dict[str, Any]


class End(_Ours, frozen=True, tag="end", kw_only=True):
    """The call is over."""

    by: Literal["agent", "caller", "failure"]
    reason: str


Message = Hello | State | Caption | Tool | Proposal | Use | End

_ENCODER = msgspec.json.Encoder()


def encode(message: Message) -> str:
    """Write a message for the page."""
    return _ENCODER.encode(message).decode()


# --- from the page -----------------------------------------------------------------------------


class _Theirs(msgspec.Struct, frozen=True, tag_field="type", kw_only=True):
    v: Literal[1]


class Mute(_Theirs, frozen=True, tag="mute"):
    """The visitor's microphone is off, or on again."""

    muted: bool


class Text(_Theirs, frozen=True, tag="text"):
    """The visitor wrote instead of speaking."""

    text: Annotated[str, Meta(max_length=TEXT_MOST)]


class Answer(_Theirs, frozen=True, tag="answer"):
    """The visitor answered a proposal by its button."""

    proposal: Annotated[str, Meta(max_length=200)]
    yes: bool


class Context(_Theirs, frozen=True, tag="context"):
    """The page tells the agent something that nobody says."""

    text: Annotated[str, Meta(max_length=TEXT_MOST)] = ""
    variables: dict[Annotated[str, Meta(max_length=64)], str | int | float | bool] = {}

    def sentence(self) -> str:
        """Put it into one sentence."""
        known = "; ".join(f"{name} is {value}" for name, value in self.variables.items())
        return ". ".join(filter(None, (self.text.strip().rstrip("."), known)))[:TEXT_MOST]


class Used(_Theirs, frozen=True, tag="used"):
    """What came of a `use`: a result, or why there is none."""

    id: Annotated[str, Meta(max_length=64)]
    result: Any = msgspec.UNSET
    error: Annotated[str, Meta(max_length=500)] = ""


class Keys(_Theirs, frozen=True, tag="keys"):
    """The visitor pressed keys."""

    keys: Annotated[str, Meta(pattern="^[0-9A-D*#]*$", max_length=KEYS_MOST)]


class Played(_Theirs, frozen=True, tag="played"):
    """What left the loudspeaker, and how long ago."""

    rtp: Annotated[int, Meta(ge=0, lt=1 << 32)]
    "RTP time of a sample"
    age_ms: Annotated[float, Meta(ge=-1000, le=10000)]
    "since it was heard; negative: it will be heard in so long"
    error_ms: Annotated[float, Meta(ge=0, le=1000)] = 15.0
    "how far the page may be off"


Told = Mute | Text | Answer | Context | Used | Keys | Played

_DECODER: msgspec.json.Decoder[Told] = msgspec.json.Decoder(Told)


def decode(text: str) -> Told:
    """Read a message of the page; raises ValueError."""
    return decode_json(_DECODER, text)
