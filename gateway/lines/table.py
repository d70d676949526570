"""The lines that callers come in on, by the names of their sections in the settings."""

from __future__ import annotations

from typing import Any

from gateway.lines.port import LineKind
from gateway.lines.sip.kind import SIP
from gateway.lines.twilio.kind import TWILIO
from gateway.lines.webrtc.kind import WEBRTC

LINES: dict[str, LineKind[Any]] = {
    "twilio": TWILIO,
    "sip": SIP,
    "webrtc": WEBRTC,
}
