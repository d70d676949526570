"""What the operator decides about calls from web pages."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta

Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
Port = Annotated[int, Meta(ge=0, le=65535)]

KEY_BYTES = 32
"""RFC 7518, section 3.2: a key for HS256 is at least as long as the hash."""


@dataclass(frozen=True, slots=True)
class WebrtcSettings:
    """Which pages may call, what they must show, and how browsers reach this gateway."""

    enabled: bool = True
    origins: tuple[str, ...] = ()
    "pages that may call, as in `https://www.example.com`; the gateway's own is one, for visitors"
    public: bool = False
    "let anybody on these pages call without a token, within the limits below: for demonstrations"
    public_calls: Count = 4
    "calls without a token at once, in all"
    public_per_origin: Count = 4
    "the same, from one page's origin"
    public_per_address: Count = 2
    "the same, from one address"
    public_per_hour: Count = 20
    "calls without a token that one address may begin in an hour"
    public_seconds: Positive = 300.0
    "a call without a token is brought to its end after this"
    token_key: str = field(default="", repr=False, metadata={"env": "PARLEY_TOKEN_KEY"})
    api_key: str = field(default="", repr=False, metadata={"env": "PARLEY_API_KEY"})
    token_seconds: Positive = 60.0
    "life of a token, unless it is asked for with less; only the call's beginning must lie in it"
    call_seconds: Positive = 3600.0
    "no call from a page is longer, whatever its token says"
    goodbye: str = "The time for this call is over. Goodbye."
    "said when a call has reached its limit"
    addresses: tuple[str, ...] = ()
    "offered to browsers, nothing else is; `PUBLIC/LOCAL` behind NAT; empty: the one they came to"
    ports: tuple[Port, Port] = (0, 0)
    "UDP ports from and to, one for each call; `[0, 0]`: any that is free"
    ice: tuple[str, ...] = ()
    "told to pages, as in `stun:stun.example.com` and `turn:turn.example.com?transport=udp`"
    turn_secret: str = field(default="", repr=False, metadata={"env": "PARLEY_TURN_SECRET"})
    turn_seconds: Positive = 3600.0
    "life of a TURN password; it must outlast a call"
    codecs: tuple[Literal["opus", "pcmu", "pcma"], ...] = ("opus", "pcmu", "pcma")
    "that are accepted; the first that the browser has too is used"
    rate: Literal[16000, 24000] = 24000
    "samples per second of a call with Opus: what voices speak in; 16000 saves some CPU"
    bitrate: Annotated[int, Meta(ge=8000, le=128000)] = 32000
    "bits per second of the agent's voice in Opus"
    connect_seconds: Positive = 15.0
    "between the answer and the first sound; longer waits have failed"
    away_seconds: Annotated[float, Meta(gt=1, le=30)] = 12.0
    "without any packet, after which the caller is gone; until then the call waits for them"
    pending: Count = 20
    "calls at once that are answered and not connected yet"

    def __post_init__(self) -> None:
        for origin in self.origins:
            parts = urlsplit(origin)
            if origin != "*" and (
                parts.scheme not in ("https", "http") or not parts.netloc or parts.path
            ):
                raise ValueError(
                    f"origins has {origin!r}; an origin is https://HOST or https://HOST:PORT"
                )
        for entry in self.addresses:
            for address in entry.split("/"):
                ipaddress.ip_address(address)
        low, high = self.ports
        if low > high or (low == 0) != (high == 0):
            raise ValueError(f"ports is {list(self.ports)}; it is [FROM, TO], or [0, 0] for any")
        for url in self.ice:
            if not url.startswith(("stun:", "stuns:", "turn:", "turns:")):
                raise ValueError(f"ice has {url!r}; it must begin with stun:, turn: or turns:")
        if not self.codecs:
            raise ValueError("codecs is empty; it needs at least one codec")

    def problem(self) -> str | None:
        """Return what does not fit together once secrets are in, for `parley check` and start."""
        if self.token_key and len(self.token_key.encode()) < KEY_BYTES:
            return f"PARLEY_TOKEN_KEY is too short; it needs at least {KEY_BYTES} characters"
        if self.api_key and len(self.api_key) < 16:
            return "PARLEY_API_KEY is too short; it needs at least 16 characters"
        if any(url.startswith("turn") for url in self.ice) and not self.turn_secret:
            return "ice names a TURN server, but PARLEY_TURN_SECRET is not set"
        return None

    def hosts(self) -> tuple[tuple[str, str], ...]:
        """Return what is offered and what is bound for it."""
        pairs = (entry.partition("/") for entry in self.addresses)
        return tuple((public, local or public) for public, _, local in pairs)
