"""One line of the call log, as it is read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from gateway.log_events import CallStartedLogged, LogEvent, UsageLogged
from gateway.observe.call_names import whole
from gateway.observe.vocabulary import HEAD
from gateway.plumbing.wire_json import decode


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
    told: LogEvent | None = None
    "the same, typed; None: another version's, or nothing that this event may hold"


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

_TOLD: msgspec.json.Decoder[LogEvent] = msgspec.json.Decoder(LogEvent)
"""Reads the text again: that is fifty times as fast as `msgspec.convert` of what was read."""


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
            return LogLine(ts, call, float(at), event, rest, _told(raw))
        case _:
            lacking = [name for name in HEAD if name not in document]
            raise ValueError(f"no {lacking[0]}" if lacking else "a field of the wrong kind")


class _Head(msgspec.Struct):
    ts: str
    call: str
    at: float
    event: str


_HEAD: msgspec.json.Decoder[_Head] = msgspec.json.Decoder(_Head)


def brief(raw: bytes) -> LogLine:
    """Parse one line for what it tells, in a fifth of the time; `fields` has what no class has.

    Raises ValueError where it is no line of the call log.
    """
    try:
        head: _Head = decode(_HEAD, raw)
    except ValueError:
        return parse(raw)  # which says what is wrong
    told = _told(raw)
    if isinstance(told, UsageLogged):  # every vendor's figures are others
        return parse(raw)
    return LogLine(head.ts, head.call, head.at, head.event, {}, told)


def _told(raw: bytes) -> LogEvent | None:
    try:
        return _TOLD.decode(raw)
    except msgspec.ValidationError:
        return None


def is_call(line: LogLine, wanted: str) -> bool:
    """Return whether a line belongs to a call, named by its id or by either end of it."""
    return not wanted or _named(line.call, wanted) or _named(whole(line.call), wanted)


def is_called(line: LogLine, wanted: str) -> bool:
    """Return whether a line begins a call that SIP knows by that id, or by either end of it."""
    match line.told:
        case CallStartedLogged(sip_call_id=str(own)):
            return _named(own, wanted)
        case _:
            return False


def _named(name: str, wanted: str) -> bool:
    return bool(name) and (name.endswith(wanted) or name.startswith(wanted))
