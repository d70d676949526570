"""Signs what is posted, as the Standard Webhooks specification (standardwebhooks.com) has it."""

from __future__ import annotations

import base64
import hmac


def headers(identity: str, wall: float, body: bytes, secret: str) -> dict[str, str]:
    """Return the headers by which a receiver knows an event: its id, its time, whose it is.

    The signature is HMAC-SHA256 over `id.timestamp.body`, so that neither can be exchanged; the
    time is that of the attempt, and the id the same in all of them.
    """
    stamp = str(int(wall))
    signed = b".".join((identity.encode(), stamp.encode(), body))
    mac = hmac.digest(key(secret), signed, "sha256")
    return {
        "content-type": "application/json",
        "webhook-id": identity,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }


def key(secret: str) -> bytes:
    """Return the bytes of a secret: after `whsec_` they are in base64 (Standard Webhooks)."""
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except ValueError:
            pass
    return secret.encode()
