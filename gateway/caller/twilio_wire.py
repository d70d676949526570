"""Media Streams as Twilio speaks it, written apart from the gateway's side of it.

Source: Twilio, "Media Streams - WebSocket Messages" and its error codes 31950 and 31951 (2026).
"""

from __future__ import annotations

from base64 import b64encode

import msgspec


class _MediaBody(msgspec.Struct, frozen=True, gc=False):
    payload: bytes


class _MarkBody(msgspec.Struct, frozen=True, gc=False):
    name: str


class Media(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="media", rename="camel"):
    """Sound to be played."""

    stream_sid: str
    media: _MediaBody


class Mark(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="mark", rename="camel"):
    """To be sent back when what came before it was played."""

    stream_sid: str
    mark: _MarkBody


class Clear(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="clear", rename="camel"):
    """Everything that waits is to be forgotten."""

    stream_sid: str


_decoder: msgspec.json.Decoder[Media | Mark | Clear] = msgspec.json.Decoder(Media | Mark | Clear)


def parse(text: bytes | memoryview, stream_sid: str) -> Media | Mark | Clear:
    """Parse a message of the gateway as strictly as Twilio; raises ValueError with its code."""
    try:
        message = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"31951: {error}") from None
    if message.stream_sid != stream_sid:
        raise ValueError("31951: a message of another stream")
    return message


_MEDIA = (
    b'{"event":"media","sequenceNumber":"%d%b'
    b'"media":{"track":"inbound","chunk":"%d","timestamp":"%d","payload":"%b"}}'
)


class Writer:
    """Writes Twilio's messages of one stream, counting them."""

    def __init__(self, stream_sid: str, call_sid: str, account_sid: str) -> None:
        self._stream = stream_sid
        self._ids = {"accountSid": account_sid, "callSid": call_sid}
        self._sequence = 0
        self._chunk = 0
        self._head = f'","streamSid":"{stream_sid}",'.encode()

    @staticmethod
    def connected() -> bytes:
        """Write the first message."""
        return b'{"event":"connected","protocol":"Call","version":"1.0.0"}'

    def start(self, parameters: dict[str, str]) -> bytes:
        """Write `start`, with the parameters of the TwiML."""
        inner = {
            "streamSid": self._stream,
            **self._ids,
            "tracks": ["inbound"],
            "customParameters": parameters,
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
        }
        return self._message("start", inner)

    def media(self, payload: bytes, timestamp_ms: int) -> bytes:
        """Write sound."""
        self._chunk += 1
        self._sequence += 1
        numbers = self._sequence, self._head, self._chunk, timestamp_ms, b64encode(payload)
        return _MEDIA % numbers

    def dtmf(self, digit: str) -> bytes:
        """Write a key."""
        return self._message("dtmf", {"track": "inbound_track", "digit": digit})

    def mark(self, name: str) -> bytes:
        """Send a mark back."""
        return self._message("mark", {"name": name})

    def stop(self) -> bytes:
        """Write the last message."""
        return self._message("stop", dict(self._ids))

    def _message(self, event: str, body: object) -> bytes:
        self._sequence += 1
        return msgspec.json.encode(
            {
                "event": event,
                "sequenceNumber": str(self._sequence),
                "streamSid": self._stream,
                event: body,
            }
        )
