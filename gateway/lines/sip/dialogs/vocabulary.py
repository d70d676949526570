"""What a call is told, what it wants done, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gateway.lines.rtp.offer import Agreement
from gateway.lines.rtp.sdp import Direction
from gateway.lines.sip.message.message import Request, Response
from gateway.lines.sip.transactions.layer import (
    AckArrived,
    RequestArrived,
    RequestFailed,
    ResponseArrived,
)
from gateway.lines.sip.transactions.matching import Key

# --- orders: what the owner of a call wants ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ring:
    """Say that the phone rings; with `early`, that sound flows already (183)."""

    early: bool = False


@dataclass(frozen=True, slots=True)
class Accept:
    """Answer the call."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Refuse the call."""

    code: int


@dataclass(frozen=True, slots=True)
class HangUp:
    """End the call, in whatever way its state asks for."""

    reason: str = ""
    "goes into a Reason header (RFC 3326)"
    code: int = 16
    "Q.850 cause; 16 is normal clearing"
    failure: bool = False
    "nobody wishes it: the call cannot go on"


@dataclass(frozen=True, slots=True)
class PressKey:
    """Send a key by INFO."""

    key: str
    milliseconds: int = 160


@dataclass(frozen=True, slots=True)
class Refer:
    """Ask the far side to call someone else (RFC 3515)."""

    target: str
    replaces: str = ""
    "value of Replaces (RFC 3891), for an attended transfer"


@dataclass(frozen=True, slots=True)
class ChangeMedia:
    """Offer the stream again with another direction: hold, and back."""

    direction: Direction


@dataclass(frozen=True, slots=True)
class ReferDecision:
    """Answer a REFER of the far side."""

    accepted: bool
    code: int = 603


@dataclass(frozen=True, slots=True)
class ReferProgress:
    """Tell the far side how the call it asked for goes; a final code ends it."""

    code: int
    phrase: str = ""


Order = (
    Ring | Accept | Reject | HangUp | PressKey | Refer | ChangeMedia | ReferDecision | ReferProgress
)


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The deadline may be over."""


CallEvent = RequestArrived | AckArrived | ResponseArrived | RequestFailed | Order | TimePassed

# --- what the call wants on the wire -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SendRequest:
    """Send a request; what comes of it is told under `label`."""

    label: str
    request: Request
    next_uri: str
    "where it goes first"


@dataclass(frozen=True, slots=True)
class SendAck:
    """Send the ACK of a 2xx."""

    request: Request
    next_uri: str


@dataclass(frozen=True, slots=True)
class SendResponse:
    """Answer a request."""

    tx: Key
    response: Response


@dataclass(frozen=True, slots=True)
class SendCancel:
    """Cancel a request."""

    label: str


# --- reports -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rang:
    """A provisional response came."""

    code: int
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class MediaAgreed:
    """An offer and its answer hold from now on; `early` before the call is answered."""

    agreement: Agreement
    early: bool = False


@dataclass(frozen=True, slots=True)
class MediaRefused:
    """A description of the far side cannot be used; what was agreed before goes on."""

    reason: str


@dataclass(frozen=True, slots=True)
class Established:
    """The call is up on both sides."""


Outcome = Literal[
    "hung_up", "busy", "no_answer", "refused", "not_found", "cancelled", "timeout", "failed"
]


@dataclass(frozen=True, slots=True)
class Over:
    """The call is over; said once."""

    by: Literal["local", "remote", "failure"]
    outcome: Outcome
    code: int = 0
    "final status code, where one ended it"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class KeyCame:
    """The far side pressed a key, by INFO."""

    key: str


@dataclass(frozen=True, slots=True)
class Referred:
    """The far side asks us to call someone else; answer with `ReferDecision`."""

    target: str
    replaces: str = ""
    referred_by: str = ""


@dataclass(frozen=True, slots=True)
class TransferWent:
    """Our REFER had an outcome; `code` is the last status seen."""

    accepted: bool
    code: int
    reason: str = ""


Report = Rang | MediaAgreed | MediaRefused | Established | Over | KeyCame | Referred | TransferWent
CallEffect = SendRequest | SendAck | SendResponse | SendCancel | Report


@dataclass(frozen=True, slots=True)
class CallSettings:
    """What every call of a line does alike."""

    session_expires: int = 1800
    "seconds; 0: no timer of our own wish"
    min_se: int = 90
    reliable: Literal["never", "supported", "required"] = "supported"
    "provisional responses of ours (RFC 3262)"
    ring_seconds: float = 60.0
    "how long an outbound call rings before it is given up"
    transfer_seconds: float = 60.0
    "how long the outcome of a REFER is waited for"
    refer: bool = True
    "whether the far side may send us elsewhere"
    agent: str = "Parley"
    "User-Agent and Server"
    allow: tuple[str, ...] = field(
        default=(
            "INVITE", "ACK", "CANCEL", "BYE", "OPTIONS", "INFO", "UPDATE", "PRACK", "REFER",
            "NOTIFY",
        )
    )  # fmt: skip
    supported: tuple[str, ...] = ("100rel", "timer", "replaces", "norefersub")
