"""The JSON messages of Twilio Media Streams, both ways: what comes in parsed once, what goes out
written from byte templates.

Source: Twilio, "Media Streams - WebSocket Messages" (2026).
Numbers that Twilio sends as strings (`sequenceNumber`, `chunk`, `timestamp`) are integers here.
"""

from __future__ import annotations

from binascii import b2a_base64

import msgspec


class MediaFormat(msgspec.Struct, frozen=True, rename="camel"):
    """How the stream's sound is coded."""

    encoding: str
    sample_rate: int
    "samples per second"
    channels: int


class StartDetail(msgspec.Struct, frozen=True, rename="camel"):
    """What `start` says of the call."""

    stream_sid: str
    call_sid: str
    media_format: MediaFormat
    account_sid: str = ""
    tracks: tuple[str, ...] = ()
    custom_parameters: dict[str, str] = {}


class MediaDetail(msgspec.Struct, frozen=True, gc=False):
    """One piece of the caller's sound."""

    payload: bytes
    "in the stream's wire form; base64 on the wire"
    timestamp: int
    "milliseconds from the stream's start to the first sample"
    track: str = "inbound"


class MarkDetail(msgspec.Struct, frozen=True, gc=False):
    """A mark that comes back."""

    name: str


class KeyDetail(msgspec.Struct, frozen=True, gc=False):
    """A key the caller pressed."""

    digit: str


class Connected(msgspec.Struct, frozen=True, tag_field="event", tag="connected"):
    """The first message, before anything is known of the call."""


class Start(msgspec.Struct, frozen=True, tag_field="event", tag="start", rename="camel"):
    """The stream begins."""

    start: StartDetail
    sequence_number: int = 0
    "counts all messages but `connected` from 1; 0: not said"


class Media(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="media", rename="camel"):
    """Sound from the caller."""

    media: MediaDetail
    stream_sid: str = ""
    sequence_number: int = 0


class Mark(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="mark", rename="camel"):
    """Everything queued before this mark was played, or was cleared."""

    mark: MarkDetail
    stream_sid: str = ""
    sequence_number: int = 0


class Dtmf(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="dtmf", rename="camel"):
    """The caller pressed a key."""

    dtmf: KeyDetail
    stream_sid: str = ""
    sequence_number: int = 0


class Stop(msgspec.Struct, frozen=True, tag_field="event", tag="stop", rename="camel"):
    """The stream ends: hung up, transferred, or stopped by request."""

    stream_sid: str = ""


class Unknown(msgspec.Struct, frozen=True):
    """An event this gateway does not know; Twilio may add some at any time."""

    event: str


Message = Connected | Start | Media | Mark | Dtmf | Stop | Unknown

KNOWN = frozenset({"connected", "start", "media", "mark", "dtmf", "stop"})

# `strict=False` makes numbers of the strings in which Twilio writes them.
_messages: msgspec.json.Decoder[Message] = msgspec.json.Decoder(
    Connected | Start | Media | Mark | Dtmf | Stop, strict=False
)
_any_event = msgspec.json.Decoder(Unknown)


def parse(text: bytes | memoryview) -> Message:
    """Parse one message; raises ValueError that says what is wrong, never quoting its content."""
    try:
        return _messages.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        problem = _without_content(error)
    try:
        unknown = _any_event.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError(f"not a Media Streams message: {problem}") from None
    if unknown.event in KNOWN:
        raise ValueError(f"malformed {unknown.event!r} message: {problem}")
    return unknown


def _without_content(error: Exception) -> str:
    """Return what msgspec found: types and paths, never values but for an unknown event's name."""
    return str(error) if isinstance(error, msgspec.MsgspecError) else type(error).__name__


class Outgoing:
    """Writes the three messages Twilio understands, for one stream."""

    __slots__ = ("_mark_head", "_media_head", "clear")

    def __init__(self, stream_sid: str) -> None:
        sid = msgspec.json.encode(stream_sid)
        self._media_head = b'{"event":"media","streamSid":' + sid + b',"media":{"payload":"'
        self._mark_head = b'{"event":"mark","streamSid":' + sid + b',"mark":{"name":'
        self.clear = b'{"event":"clear","streamSid":' + sid + b"}"

    def media(self, payload: bytes) -> bytes:
        """Write sound in the stream's wire form; any length is queued and played in order."""
        return self._media_head + b2a_base64(payload, newline=False) + b'"}}'

    def mark(self, name: str) -> bytes:
        """Write a mark, which comes back when what was sent before it has been played."""
        return self._mark_head + msgspec.json.encode(name) + b"}}"
