"""What the operator decides about the gateway's own pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from gateway.doors import passwords
from gateway.doors.people import OWNER


@dataclass(frozen=True, slots=True)
class UserSettings:
    """Somebody who looks at calls."""

    role: Literal["sees", "acts"] = "sees"
    "sees calls, or also hangs up and puts through"
    password: str = field(default="", repr=False)
    "the hash that `parley password` prints; without one, only the proxy names them"

    def __post_init__(self) -> None:
        if self.password:
            passwords.check(self.password)


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Who sees the gateway's own page, and what is on it."""

    page: bool = True
    "whether there are pages at `/` and `/calls`"
    calls: Literal["owner", "open", "off"] = "owner"
    "who sees calls, words included: the owner's link and `web.users`, all, nobody"
    users: Mapping[str, UserSettings] = field(default_factory=dict)
    "people who log in, by their names"
    session_hours: Annotated[float, Meta(gt=0, le=720)] = 12.0
    "after which one logs in again"
    proxy_header: str = ""
    "in which a proxy that has logged somebody in says who it is, as in `X-Forwarded-User`"
    proxy_secret: str = field(default="", repr=False, metadata={"env": "PARLEY_PROXY_SECRET"})
    "which that proxy shows in `X-Parley-Proxy`; from who does not, no name is believed"

    def __post_init__(self) -> None:
        if OWNER in self.users:
            raise ValueError(f"{OWNER!r} is the name of this machine's owner; call them otherwise")
