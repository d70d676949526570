"""Who one is, by digest (RFC 3261, section 22; RFC 7616; RFC 8760): asking and answering.

The asking side keeps a bounded set of nonces; each counts upwards and is used once per count.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gateway.lines.sip.message.address import parse_uri, quote, split_quoted, unquote
from gateway.lines.sip.message.message import Request, Response, clean

ALGORITHMS: dict[str, Callable[[bytes], str]] = {
    "SHA-256": lambda data: hashlib.sha256(data).hexdigest(),
    # Asked for by nearly every trunk; no protection is claimed for it.
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(),
}
"""Best first: RFC 8760, section 2.4 lets the client take the first it knows."""

NONCE_SECONDS = 60.0
"""A nonce is good for one registration or call set-up, not for an afternoon."""
MAX_NONCES = 4096
MAX_ATTEMPTS = 2
"""Answers to challenges per request: the first, and one for a stale nonce."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is known to one side of a digest."""

    username: str
    password: str = field(repr=False)
    realm: str = ""
    "empty: whatever realm asks"


def parse_digest(text: str) -> dict[str, str]:
    """Read `Digest name=value, ...`; raises ValueError, for other schemes too."""
    scheme, _, rest = text.strip().partition(" ")
    if scheme.lower() != "digest":
        raise ValueError("the scheme is not Digest")
    found: dict[str, str] = {}
    for part in split_quoted(rest, ","):
        name, equals, value = part.partition("=")
        if equals:
            found[name.strip().lower()] = unquote(value.strip())
    return found


def _digest(
    algorithm: str, credentials: Credentials, realm: str, method: str, p: Mapping[str, str]
) -> str:
    """Compute the response of RFC 7616, section 3.4.1; without qop as in RFC 2069."""
    hashed = ALGORITHMS[algorithm]
    secret = hashed(f"{credentials.username}:{realm}:{credentials.password}".encode())
    action = hashed(f"{method}:{p['uri']}".encode())
    if p.get("qop"):
        middle = f"{p['nonce']}:{p['nc']}:{p['cnonce']}:{p['qop']}"
    else:
        middle = p["nonce"]
    return hashed(f"{secret}:{middle}:{action}".encode())


# --- the side that is asked --------------------------------------------------------------------


@dataclass(slots=True)
class Answers:
    """Answers challenges for one account: a proxy's (407), then the far end's own (401)."""

    credentials: tuple[Credentials, ...]
    ids: Callable[[], str]
    _counts: OrderedDict[str, int] = field(default_factory=OrderedDict)
    "how often each nonce was used"

    def answer(self, request: Request, response: Response, attempts: int) -> bool:
        """Put credentials on `request` for the challenge in `response`; False: give up."""
        asking, answering = (
            ("Proxy-Authenticate", "Proxy-Authorization")
            if response.code == 407
            else ("WWW-Authenticate", "Authorization")
        )
        asked = self._choose(response.headers.getlist(asking))
        if asked is None or attempts >= MAX_ATTEMPTS:
            return False
        algorithm, challenge, credentials = asked
        stale = challenge.get("stale", "").lower() == "true"
        if attempts > 0 and not stale and _answered(request, answering, challenge):
            return False  # the same password would be refused again
        line = self._credentials(algorithm, challenge, credentials, request)
        request.headers.remove(answering)
        request.headers.set(answering, line)
        return True

    def _choose(self, lines: list[str]) -> tuple[str, dict[str, str], Credentials] | None:
        for line in lines[:8]:
            try:
                challenge = parse_digest(line)
            except ValueError:
                continue
            algorithm = challenge.get("algorithm", "MD5").upper()
            qops = [qop.strip() for qop in challenge.get("qop", "").lower().split(",")]
            if algorithm not in ALGORITHMS or not ("auth" in qops or qops == [""]):
                continue
            if "nonce" not in challenge or "realm" not in challenge:
                continue
            for credentials in self.credentials:
                if credentials.realm in ("", challenge["realm"]):
                    return algorithm, challenge, credentials
        return None

    def _credentials(
        self,
        algorithm: str,
        challenge: dict[str, str],
        credentials: Credentials,
        request: Request,
    ) -> str:
        nonce, realm = challenge["nonce"], challenge["realm"]
        values = {"nonce": nonce, "uri": request.uri}
        if challenge.get("qop"):
            count = self._counts.pop(nonce, 0) + 1
            self._counts[nonce] = count
            while len(self._counts) > 16:
                self._counts.popitem(last=False)
            values |= {"qop": "auth", "nc": f"{count:08x}", "cnonce": self.ids()}
        response = _digest(algorithm, credentials, realm, request.method, values)
        parts = [
            f"username={quote(credentials.username)}",
            f"realm={quote(realm)}",
            f"nonce={quote(nonce)}",
            f"uri={quote(request.uri)}",
            f"response={quote(response)}",
        ]
        if "algorithm" in challenge:
            parts.append(f"algorithm={challenge['algorithm']}")
        if "qop" in values:
            parts += ["qop=auth", f"nc={values['nc']}", f"cnonce={quote(values['cnonce'])}"]
        if "opaque" in challenge:
            parts.append(f"opaque={quote(challenge['opaque'])}")
        return "Digest " + ", ".join(parts)


# --- the side that asks --------------------------------------------------------------------------


MAX_CLAIMED = 64
"""Characters of a user name that somebody claims, for the log."""

Fault = Literal[
    "nothing shown",
    "old nonce",
    "malformed",
    "proof for another address",
    "wrong password",
    "unknown user",
]
"""The first two happen to every honest caller; the others are mistakes or attempts."""


@dataclass(frozen=True, slots=True)
class Unproved:
    """Somebody who did not prove who they are."""

    why: Fault
    claimed: str = ""
    "whom they say they are"

    @property
    def attempt(self) -> bool:
        """Whether this is a failure, and not the first half of a handshake."""
        return self.why not in ("nothing shown", "old nonce")


def same_place(one: str, other: str) -> bool:
    """Return whether two URIs mean one place; parameters, which proxies add, are passed over.

    RFC 7616, section 3.4.6: a proof for another address may be one that was overheard.
    """
    if one == other:
        return True
    try:
        left, right = parse_uri(one), parse_uri(other)
    except ValueError:
        return False
    return (left.user or "", left.host.lower(), left.port or 5060) == (
        right.user or "",
        right.host.lower(),
        right.port or 5060,
    )


@dataclass(slots=True)
class _Nonce:
    until: float
    count: int = 0


class Challenges:
    """Asks for a digest and checks what comes back."""

    def __init__(self, realm: str, passwords: Mapping[str, str], ids: Callable[[], str]) -> None:
        self._realm = realm
        self._passwords = passwords
        self._ids = ids
        self._nonces: OrderedDict[str, _Nonce] = OrderedDict()

    def __len__(self) -> int:
        return len(self._nonces)

    def check(self, request: Request, now: float) -> str | Unproved:
        """Return the user name that the request proves, or say why it proves none."""
        for line in request.headers.getlist("Authorization")[:4]:
            try:
                given = parse_digest(line)
            except ValueError:
                continue  # RFC 4475, section 3.3.7: unknown schemes are passed over
            if given.get("realm") == self._realm:
                return self._verify(given, request, now)
        return Unproved("nothing shown")

    def _verify(self, given: dict[str, str], request: Request, now: float) -> str | Unproved:
        algorithm = given.get("algorithm", "MD5").upper()
        username = given.get("username", "")
        password = self._passwords.get(username)
        needed = ("nonce", "uri", "response", "nc", "cnonce", "qop")
        claimed = clean(username)[:MAX_CLAIMED]
        if algorithm not in ALGORITHMS or any(not given.get(name) for name in needed):
            return Unproved("malformed", claimed)
        if given["qop"].lower() != "auth":
            return Unproved("malformed", claimed)
        if not same_place(given["uri"], request.uri):
            return Unproved("proof for another address", claimed)
        if not self._count(given, now):
            return Unproved("old nonce", claimed)
        expected = _digest(
            algorithm,
            Credentials(username, password if password is not None else self._ids()),
            self._realm,
            request.method,
            given,
        )
        matches = hmac.compare_digest(expected.encode(), given["response"].lower().encode())
        if matches and password is not None:
            return username
        return Unproved("wrong password" if password is not None else "unknown user", claimed)

    def _count(self, given: dict[str, str], now: float) -> bool:
        """Take one use of a nonce: each count once, upwards (RFC 7616, section 3.4)."""
        nonce = self._nonces.get(given["nonce"])
        try:
            count = int(given["nc"], 16)
        except ValueError:
            return False
        if nonce is None or now > nonce.until or count <= nonce.count:
            return False
        nonce.count = count
        return True

    def challenge(self, request: Request, now: float) -> tuple[tuple[str, str], ...]:
        """Return the headers of a 401; says stale when only the nonce was at fault."""
        stale = any(
            f'realm="{self._realm}"' in line and "nonce=" in line
            for line in request.headers.getlist("Authorization")
        ) and self._nonce_is_old(request, now)
        while len(self._nonces) >= MAX_NONCES:
            self._nonces.popitem(last=False)
        nonce = self._ids() + self._ids()
        self._nonces[nonce] = _Nonce(now + NONCE_SECONDS)
        # RFC 8760, section 2.4: one header for each algorithm, the best first.
        values = (
            f"Digest realm={quote(self._realm)}, nonce={quote(nonce)}, "
            f'algorithm={algorithm}, qop="auth"' + (", stale=true" if stale else "")
            for algorithm in ALGORITHMS
        )
        return tuple(("WWW-Authenticate", value) for value in values)

    def _nonce_is_old(self, request: Request, now: float) -> bool:
        for line in request.headers.getlist("Authorization")[:4]:
            try:
                given = parse_digest(line)
            except ValueError:
                continue
            nonce = self._nonces.get(given.get("nonce", ""))
            if nonce is None or now > nonce.until:
                return True
        return False


def _answered(request: Request, answering: str, challenge: dict[str, str]) -> bool:
    """Return whether a request holds credentials for the realm of a challenge already."""
    said = map(parse_digest, request.headers.getlist(answering))  # which we wrote
    return any(one.get("realm") == challenge["realm"] for one in said)
