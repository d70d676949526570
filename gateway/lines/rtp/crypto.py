"""What `a=crypto` lines say (RFC 4568, 6188, 7714): suites, keys and which of them is chosen."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

SUITES = {
    "AEAD_AES_256_GCM": 44,
    "AEAD_AES_128_GCM": 28,
    "AES_CM_128_HMAC_SHA1_80": 30,
    "AES_CM_128_HMAC_SHA1_32": 30,
}
"""Bytes of master key and salt; libsrtp through pylibsrtp has no AES_256_CM profile."""

OFFERED = ("AES_CM_128_HMAC_SHA1_80", "AEAD_AES_128_GCM", "AES_CM_128_HMAC_SHA1_32")
"""What is offered, the one that everybody must have (RFC 4568, section 6.2) first."""


@dataclass(frozen=True, slots=True)
class Crypto:
    """One `a=crypto` line."""

    tag: int
    suite: str
    key: bytes = field(repr=False)
    "master key and salt; never logged"
    identifier: bytes = b""
    "of the master key (MKI), in each packet that is encrypted with it; empty: none"

    @classmethod
    def parse(cls, text: str) -> Crypto:
        """Read one; raises ValueError for suites and parameters that are not supported."""
        parts = text.split()
        if len(parts) < 3 or not parts[0].isdigit() or len(parts[0]) > 9:
            raise ValueError("a crypto line is malformed")
        suite = parts[1].upper()
        method, _, inline = parts[2].partition(":")
        if suite not in SUITES or method.lower() != "inline" or len(parts) > 3:
            # RFC 4568, section 6.3: session parameters that are not known are refused.
            raise ValueError("a crypto line asks for what is not supported")
        encoded, *more = inline.split("|")
        identifier = _identifier([item for item in more if ":" in item])
        try:
            key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except binascii.Error:
            raise ValueError("a crypto key is malformed") from None
        if len(key) != SUITES[suite]:
            raise ValueError("a crypto key has the wrong length")
        return cls(int(parts[0]), suite, key, identifier)

    def __str__(self) -> str:
        encoded = base64.b64encode(self.key).decode().rstrip("=")
        named = self.identifier
        more = f"|{int.from_bytes(named, 'big')}:{len(named)}" if named else ""
        return f"{self.tag} {self.suite} inline:{encoded}{more}"


def _identifier(found: list[str]) -> bytes:
    """Read what a line says of its key's identifier: value and length (RFC 4568, section 6.1)."""
    if not found:
        return b""
    value, _, length = found[0].partition(":")
    digits = value.isascii() and value.isdigit() and length.isascii() and length.isdigit()
    if len(found) > 1 or not digits or len(value) > 308 or not 1 <= int(length[:4]) <= 128:
        raise ValueError("a master key identifier is malformed")
    try:
        return int(value).to_bytes(int(length), "big")
    except OverflowError:
        raise ValueError("a master key identifier is longer than it says") from None


def usable(lines: list[str]) -> list[Crypto]:
    """Read the lines that can be used, in the peer's order."""
    found: list[Crypto] = []
    for line in lines:
        try:
            found.append(Crypto.parse(line))
        except ValueError:
            continue
    return found
