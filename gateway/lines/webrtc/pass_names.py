"""The name of a pass, read before anybody has looked whether the pass is good."""

from __future__ import annotations

import base64

from gateway.plumbing.wire_json import parse


def name_of(token: str) -> str | None:
    """Return what a pass says that its name is; None where this is no pass."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = parse(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    name = claims.get("jti") if isinstance(claims, dict) else None
    return name if isinstance(name, str) else None
