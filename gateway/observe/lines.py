"""One line of the call log, as it is read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from gateway.plumbing.wire_json import decode

HEAD = ("ts", "call", "at", "event")


@dataclass(frozen=True, slots=True)
class LogLine:
    """What happened, in which call, and when."""

    ts: str
    "RFC 3339, UTC"
    call: str
    "empty: it concerns the whole process"
    at: float
    "seconds since the call was answered"
    event: str
    fields: Mapping[str, Any]
    "the event's own"

    def text(self, name: str) -> str:
        """Give a field as text that is safe to print, empty where it is missing."""
        value = self.fields.get(name)
        return "" if value is None else printable(str(value))

    def number(self, name: str) -> float | None:
        """Give a field as a number, None where it is missing or is none."""
        value = self.fields.get(name)
        return float(value) if isinstance(value, int | float) else None


def printable(text: str) -> str:
    """Show control characters instead of sending them to somebody's terminal.

    What callers and far ends send is in the log, and an escape sequence can do harm there.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in " \n" else f"\\x{ord(char):02x}" for char in text
    )


_DOCUMENT: msgspec.json.Decoder[object] = msgspec.json.Decoder()


def parse(raw: bytes) -> LogLine:
    """Parse one line; raise ValueError where it is none of the call log."""
    try:
        document = decode(_DOCUMENT, raw)
    except ValueError:
        raise ValueError("not JSON") from None
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    match document:
        case {"ts": str(ts), "call": str(call), "at": int() | float() as at, "event": str(event)}:
            rest = {name: value for name, value in document.items() if name not in HEAD}
            return LogLine(ts, call, float(at), event, rest)
        case _:
            lacking = [name for name in HEAD if name not in document]
            raise ValueError(f"no {lacking[0]}" if lacking else "a field of the wrong kind")


def is_call(line: LogLine, wanted: str) -> bool:
    """Say whether a line belongs to a call, named by its id or by either end of it."""
    return not wanted or _named(line.call, wanted)


def is_called(line: LogLine, wanted: str) -> bool:
    """Say whether a line begins a call that SIP knows by that id, or by either end of it."""
    return line.event == "call_started" and _named(line.text("sip_call_id"), wanted)


def _named(name: str, wanted: str) -> bool:
    return bool(name) and (name.endswith(wanted) or name.startswith(wanted))
