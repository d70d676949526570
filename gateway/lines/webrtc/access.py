"""Who may call from which page, and what they are told when they may not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from gateway.lines.webrtc.limits import PublicLimits, Visitor
from gateway.lines.webrtc.settings import WebrtcSettings
from gateway.lines.webrtc.tokens import Grant, Passes

Kind = Literal[
    "origin_refused",
    "token_missing",
    "token_invalid",
    "token_expired",
    "token_used",
    "token_elsewhere",
    "too_many_calls",
]

STATUS: dict[Kind, int] = {
    "origin_refused": 403,
    "token_missing": 401,
    "token_invalid": 401,
    "token_expired": 401,
    "token_used": 401,
    "token_elsewhere": 403,
    "too_many_calls": 429,
}

WORDS: dict[Kind, str] = {
    "origin_refused": "Pages of this origin may not call; see webrtc.origins.",
    "token_missing": "A call needs a token from the site's own server.",
    "token_invalid": "The token was not made by this gateway, or was changed.",
    "token_expired": "The token is too old.",
    "token_used": "The token was used before.",
    "token_elsewhere": "The token is for another agent or another page.",
    "too_many_calls": "There are as many calls without a token as may be.",
}


@dataclass(frozen=True, slots=True)
class Denied:
    """Why a request goes no further."""

    kind: Kind
    retry_after: int = 0
    "seconds"


@dataclass(frozen=True, slots=True)
class Caller:
    """What is known of a request."""

    origin: str
    "of the page; empty: no page sent it"
    address: str
    owner: bool = False
    "this machine's owner asks, from whatever page"
    token: str = ""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Who was let in, and how."""

    grant: Grant
    visitor: Visitor | None = None
    "counted among those without a token"
    token: str = field(default="", repr=False, compare=False)
    "that was used up"


class Access:
    """Decides; keeps the counts of those who call without a token."""

    def __init__(self, settings: WebrtcSettings, passes: Passes) -> None:
        self.settings = settings
        self.passes = passes
        self.limits = PublicLimits(settings)

    def page(self, caller: Caller) -> bool:
        """Return whether a page of this origin may talk to the gateway at all."""
        if not caller.origin or caller.owner:
            return True
        return caller.origin in self.settings.origins or "*" in self.settings.origins

    def look(self, caller: Caller, agent: str, now: float, wall: float) -> Admitted | Denied:
        """Return whether a call may come, without counting it."""
        if not self.page(caller):
            return Denied("origin_refused")
        if caller.owner:
            return Admitted(Grant(agent))
        if caller.token:
            grant = self.passes.look(caller.token, wall)
            if isinstance(grant, str):
                return Denied(grant)
            if grant.agent != agent or grant.origin not in ("", caller.origin):
                return Denied("token_elsewhere")
            return Admitted(grant)
        if not self.settings.public or not caller.origin:
            return Denied("token_missing")
        visitor = Visitor(caller.origin, caller.address)
        wait = self.limits.wait(visitor, now)
        if wait is not None:
            return Denied("too_many_calls", wait)
        return Admitted(Grant(agent, caller.origin, self.settings.public_seconds), visitor)

    def admit(self, caller: Caller, agent: str, now: float, wall: float) -> Admitted | Denied:
        """Return whether a call may come; its pass is used up, and it counts from now on."""
        looked = self.look(caller, agent, now, wall)
        if isinstance(looked, Denied):
            return looked
        if caller.owner:
            return looked
        if caller.token:
            taken = self.passes.take(caller.token, wall)
            if isinstance(taken, str):
                return Denied(taken)
        if looked.visitor is not None:
            self.limits.begin(looked.visitor, now)
        return replace(looked, token=caller.token)

    def release(self, admitted: Admitted) -> None:
        """Take that a call is over."""
        if admitted.visitor is not None:
            self.limits.end(admitted.visitor)

    def undo(self, admitted: Admitted) -> None:
        """Take that a call that was let in could not be: nothing of it is used up."""
        if admitted.token:
            self.passes.give_back(admitted.token)
        if admitted.visitor is not None:
            self.limits.undo(admitted.visitor)
