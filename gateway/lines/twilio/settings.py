"""What the operator decides about the Twilio line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class TwilioSettings:
    """How Twilio reaches this gateway, who may claim to be Twilio, and how the stream is run."""

    auth_token: str = field(default="", repr=False, metadata={"env": "TWILIO_AUTH_TOKEN"})
    shared_key: str = field(default="", repr=False, metadata={"env": "TWILIO_SHARED_KEY"})
    account_sid: str = ""
    "empty: the one Twilio names in each call"
    public_url: str = ""
    "as Twilio sees this gateway, `https://voice.example.com`; empty: taken from each request"
    require_signature: bool = True
    "false: anybody may say that they are Twilio; where something in front of this has checked it"
    require_token: bool = True
    "false where a TwiML of your own opens the stream, without asking `/twilio/voice`"
    numbers: Mapping[str, str] = field(default_factory=dict)
    "agents by the number that was called, as in `+4930123456`"
    refusal: Literal["reject", "say", "forward"] = "reject"
    "a refused caller hears a busy tone, which costs nothing; or a line; or is put through"
    refusal_text: str = "All lines are busy. Please call again later."
    forward_to: str = ""
    "number or `sip:` address that refused callers are put through to"
    caller_id: str = ""
    "number shown where callers are transferred to; empty: the caller's own"
    edge: str = ""
    region: str = ""
    "of Twilio's REST API, as in `dublin` and `ie1`; each region has a token of its own"
    token_seconds: Positive = 30.0
    "between the webhook and the stream; Twilio takes one or two seconds"
    lead: Annotated[float, Meta(ge=0, le=2)] = 0.1
    "seconds of sound kept ahead at Twilio: rides over a late frame, is what `clear` may lose"
    mark_every: Annotated[float, Meta(ge=0.02, le=2)] = 0.1
    "seconds of sound between two marks: the grain in which hearing is confirmed"
    start_seconds: Positive = 5.0
    "how long a socket may take to say what call it carries"
    early_seconds: Positive = 5.0
    "sound kept from before the call is ready"
    max_message: Annotated[int, Meta(ge=2048)] = 65536
    "bytes; a 20 ms media message has about 400"
    rest_seconds: Positive = 10.0
    "how long one request to Twilio's REST API may take"

    def __post_init__(self) -> None:
        if self.public_url and not self.public_url.startswith(("https://", "http://")):
            raise ValueError(f"public_url is {self.public_url!r}; it must begin with https://")
        if self.refusal == "forward" and not self.forward_to:
            raise ValueError("refusal is 'forward', so forward_to must name a number or address")

    @property
    def signed(self) -> bool:
        """Whether there is a secret that Twilio can sign with."""
        return bool(self.auth_token or self.shared_key)
