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
        if any(":" in item for item in more):
            raise ValueError("master key identifiers are not supported")
        try:
            key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except binascii.Error:
            raise ValueError("a crypto key is malformed") from None
        if len(key) != SUITES[suite]:
            raise ValueError("a crypto key has the wrong length")
        return cls(int(parts[0]), suite, key)

    def __str__(self) -> str:
        encoded = base64.b64encode(self.key).decode().rstrip("=")
        return f"{self.tag} {self.suite} inline:{encoded}"


def usable(lines: list[str]) -> list[Crypto]:
    """Read the lines that can be used, in the peer's order."""
    found: list[Crypto] = []
    for line in lines:
        try:
            found.append(Crypto.parse(line))
        except ValueError:
            continue
    return found
