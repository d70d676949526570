"""How keys are written into INFO bodies: `application/dtmf-relay` and `application/dtmf`."""

from __future__ import annotations

import re

from gateway.lines.keypad import KEYS
from gateway.lines.sip.message.message import Request, content_type

_SIGNAL = re.compile(r"^\s*Signal\s*=\s*([0-9*#A-Da-d]{1,2})\s*$", re.MULTILINE | re.IGNORECASE)


def info_key(request: Request) -> str | None:
    """Return the key; None where the body has none that can be read."""
    text = request.body[:512].decode("ascii", "replace")
    match content_type(request):
        case "application/dtmf-relay":
            match = _SIGNAL.search(text.replace("\r", "\n"))
            return _key(match[1]) if match else None
        case "application/dtmf":
            return _key(text.strip())
        case _:
            return None


def _key(text: str) -> str | None:
    """Read a key, or its event number as some write it (RFC 4733, table 3)."""
    if len(text) == 1 and text.upper() in KEYS:
        return text.upper()
    if text in ("10", "11", "12", "13", "14", "15"):
        return KEYS[int(text)]
    return None


def info_body(key: str, milliseconds: int) -> bytes:
    """Write an `application/dtmf-relay` body."""
    return f"Signal={key}\r\nDuration={milliseconds}\r\n".encode()
