"""People who see calls or act on them: their sessions, and a proxy that names them.

A session is a signed cookie and nothing is kept of it here, so that all processes of a gateway know
it; it ends with its time, with its user, and with a new password of theirs.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Literal

from gateway.doors.table import Who

Role = Literal["sees", "acts"]

COOKIE = "parley-session"

PROXY_HEADER = "x-parley-proxy"
"""In which the proxy that names people shows its secret."""

KNOWN: Mapping[Role, tuple[Who, ...]] = {"sees": ("sees",), "acts": ("acts", "sees")}

OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is let in."""

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class User:
    """What the settings say of somebody."""

    role: Role
    password: str = ""
    "its hash; empty: only a proxy names them"


class People:
    """Knows who is who; is told the time, in seconds since the epoch."""

    def __init__(
        self,
        users: Mapping[str, User],
        key: bytes,
        seconds: float,
        proxy_header: str = "",
        proxy_secret: str = "",
    ) -> None:
        """`key` signs; a session lasts `seconds`; `proxy_header` names people, in lower case."""
        self.users = users
        self._key = key
        self._seconds = seconds
        self._proxy_header = proxy_header.lower()
        self._proxy_secret = proxy_secret

    def person(self, headers: Mapping[str, str], now: float) -> Person | None:
        """Return who asks, by session or proxy; `headers` are looked up in lower case."""
        return self._by_proxy(headers) or self._by_session(headers, now)

    def session(self, name: str, now: float) -> str:
        """Return the cookie of a new session."""
        until = str(int(now + self._seconds))
        body = f"{_text(name.encode())}.{until}.{secrets.token_urlsafe(9)}"
        return f"{body}.{self._mark(name, body)}"

    @property
    def seconds(self) -> int:
        """How long a session lasts."""
        return int(self._seconds)

    def _by_session(self, headers: Mapping[str, str], now: float) -> Person | None:
        body, _, mark = _cookie(headers.get("cookie", "")).rpartition(".")
        parts = body.split(".")
        if len(parts) != 3 or not parts[1].isdecimal():
            return None
        name = _name(parts[0])
        if not hmac.compare_digest(mark.encode(), self._mark(name, body).encode()):
            return None
        if not now < int(parts[1]) <= now + self._seconds + 1:
            return None
        return self._known(name)

    def _by_proxy(self, headers: Mapping[str, str]) -> Person | None:
        shown = headers.get(PROXY_HEADER, "").encode("utf-8", "surrogateescape")
        if not self._proxy_header or not self._proxy_secret:
            return None
        if not hmac.compare_digest(shown, self._proxy_secret.encode()):
            return None
        name = headers.get(self._proxy_header, "")
        return self._known(name) if name != OWNER else None

    def _known(self, name: str) -> Person | None:
        if name == OWNER:
            return Person(name, "acts")
        user = self.users.get(name)
        return None if user is None else Person(name, user.role)

    def _mark(self, name: str, body: str) -> str:
        user = self.users.get(name, User("sees"))
        signed = f"{user.password}\n{body}".encode()
        return _text(hmac.digest(self._key, signed, hashlib.sha256))


def known_as(person: Person | None) -> tuple[Who, ...]:
    """Return what somebody is let in as."""
    return () if person is None else KNOWN[person.role]


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _name(text: str) -> str:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return raw.decode()
    except ValueError:
        return ""


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
