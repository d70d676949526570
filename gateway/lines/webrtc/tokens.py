"""Passes for one call from a web page: signed, short-lived, for one agent, and used once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import jwt
import msgspec
from msgspec import Meta

from gateway.plumbing.wire_json import decode, known, refuse_unknown

ALGORITHM = "HS256"
AUDIENCE = "parley/webrtc"

MOST = 100_000
"""Used passes that are remembered until they expire; more within a minute are an attack, and then
nobody is let in rather than somebody twice."""

TEXT_MOST = 256
METADATA_MOST = 2048
"""Bytes of the caller's metadata as JSON: a pass travels in one request header."""

Problem = Literal["token_invalid", "token_expired", "token_used"]

Text = Annotated[str, Meta(max_length=TEXT_MOST)]


@dataclass(frozen=True, slots=True)
class Grant:
    """What a pass allows, as the site's own server asked for it."""

    agent: Text
    origin: Text = ""
    "the page it may be used on; empty: any that may call"
    seconds: Annotated[float, Meta(gt=0)] | None = None
    "longest length of the call"
    caller: Text = ""
    "who calls, in the site's own words: personal data"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    "for the agent, as `variables` of the call"
    life: Annotated[float, Meta(gt=0)] | None = None
    "seconds in which the call must begin"


_GRANT = msgspec.json.Decoder(Grant, strict=True)


def read_grant(body: bytes) -> Grant:
    """Read what a site's server asks for; raises ValueError saying what is wrong."""
    try:
        refuse_unknown(body, Grant.__slots__)
        grant = decode(_GRANT, body)
        known(grant.metadata)
    except ValueError as error:
        raise ValueError(str(error)) from None
    if not grant.agent:
        raise ValueError("`agent` is empty")
    if len(msgspec.json.encode(grant.metadata)) > METADATA_MOST:
        raise ValueError(f"`metadata` is longer than {METADATA_MOST} bytes")
    return grant


class Passes:
    """Writes passes and takes each once; times are wall-clock seconds, as passes travel."""

    def __init__(self, key: str, life: float, draw: Callable[[], str], since: float = 0.0) -> None:
        """`draw` gives unguessable names, `life` is seconds.

        Older ones than from `since` are not taken: who knew which were used is gone.
        """
        self._key = key
        self._life = life
        self._draw = draw
        self._since = since
        self._used: OrderedDict[str, float] = OrderedDict()
        "names, with the time at which they expire anyway"

    def write(self, grant: Grant, now: float) -> tuple[str, float]:
        """Return a pass, and how many seconds it lives."""
        life = min(self._life, grant.life or self._life)
        claims: dict[str, Any] = {
            "aud": AUDIENCE,
            "iat": round(now, 3),
            "exp": round(now + life, 3),
            "jti": self._draw(),
            "agent": grant.agent,
            "origin": grant.origin,
            "seconds": grant.seconds,
            "caller": grant.caller,
            "metadata": dict(grant.metadata),
        }
        return jwt.encode(claims, self._key, algorithm=ALGORITHM), life

    def take(self, token: str, now: float) -> Grant | Problem:
        """Return what a pass allows and let it be used no more; else say what is wrong with it."""
        read = self._read(token, now)
        if isinstance(read, str):
            return read
        grant, name, expires = read
        self._used[name] = expires
        return grant

    def give_back(self, token: str) -> None:
        """Let a pass that was taken be used after all: its call could not be."""
        self._used.pop(str(self._claims(token)["jti"]), None)

    def look(self, token: str, now: float) -> Grant | Problem:
        """Return what a pass allows, without using it up."""
        read = self._read(token, now)
        return read if isinstance(read, str) else read[0]

    def _read(self, token: str, now: float) -> tuple[Grant, str, float] | Problem:
        try:
            claims = self._claims(token)
            name, expires = str(claims["jti"]), float(claims["exp"])
            issued = float(claims["iat"])
            grant = msgspec.convert(
                {k: v for k, v in claims.items() if k in Grant.__slots__}, type=Grant
            )
        except (jwt.PyJWTError, TypeError, ValueError, OverflowError, RecursionError):
            return "token_invalid"
        self._forget(now)
        if expires <= now or issued < self._since:
            return "token_expired"
        if name in self._used or len(self._used) >= MOST:
            return "token_used"
        return grant, name, expires

    def _claims(self, token: str) -> dict[str, Any]:
        return jwt.decode(
            token,
            self._key,
            algorithms=[ALGORITHM],
            audience=AUDIENCE,
            # Time is given, here as everywhere.
            options={
                "require": ["exp", "iat", "jti"],
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
            },
        )

    def _forget(self, now: float) -> None:
        while self._used:
            name, expires = next(iter(self._used.items()))
            if expires > now:
                break
            del self._used[name]

    def __len__(self) -> int:
        """Return how many used passes are remembered."""
        return len(self._used)
