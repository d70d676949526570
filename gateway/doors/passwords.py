"""Passwords of people who look at calls: kept as scrypt hashes, compared in constant time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

COST, BLOCK, LANES = 2**15, 8, 1
"""OWASP's cheat sheet (2023) names these for scrypt; 32 MB, a tenth of a second."""

MEMORY = 64 * 1024 * 1024

LONGEST = 256
"""Characters of a password: more is nobody's, and costs time."""

NOBODY = "scrypt$32768$8$1$AAAAAAAAAAAAAAAAAAAAAA==$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
"""Compared for a name that nobody has, so that the time says nothing."""


def hashed(password: str) -> str:
    """Return what the settings keep of a password."""
    salt = secrets.token_bytes(16)
    parts = (COST, BLOCK, LANES, _text(salt), _text(_derived(password, salt, COST, BLOCK, LANES)))
    return "$".join(("scrypt", *map(str, parts)))


def matches(password: str, kept: str) -> bool:
    """Return whether a password is the one of which the settings keep this; takes 0.1 s.

    Raise ValueError where that is no hash.
    """
    cost, block, lanes, salt, wanted = _parts(kept)
    if len(password) > LONGEST:
        return False
    return hmac.compare_digest(_derived(password, salt, cost, block, lanes), wanted)


def check(kept: str) -> None:
    """Raise ValueError for what is no hash."""
    _parts(kept)


def _parts(kept: str) -> tuple[int, int, int, bytes, bytes]:
    try:
        kind, cost, block, lanes, salt, wanted = kept.split("$")
        found = (int(cost), int(block), int(lanes), _bytes(salt), _bytes(wanted))
    except ValueError:
        kind, found = "", (0, 0, 0, b"", b"")
    if kind != "scrypt" or not 2**14 <= found[0] <= 2**15 or found[1:3] != (8, 1):
        raise ValueError("no hash of a password; `parley password` prints one")
    return found


def _derived(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogateescape"),
        salt=salt, n=cost, r=block, p=lanes, maxmem=MEMORY, dklen=32,
    )  # fmt: skip


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
