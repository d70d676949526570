"""The events of OpenAI's Realtime API (GA shape) that a voice gateway sends and reads.

Parsing is strict about what is used and keeps what is unknown; nothing here opens a socket.
"""

from __future__ import annotations

import binascii
from typing import Any

import msgspec

from gateway.events import Entry, Json
from gateway.plumbing.wire_json import decode
from gateway.ports import ToolSpec


class _Event(msgspec.Struct, frozen=True, gc=False):
    """A server event; fields that are not used are skipped without being parsed."""


class SessionCreated(_Event, frozen=True):
    """The connection is up."""


class SessionUpdated(_Event, frozen=True):
    """The configuration holds."""


class ApiError(msgspec.Struct, frozen=True):
    """What the server complains of."""

    code: str | None = None
    type: str | None = None
    message: str = ""
    event_id: str | None = None


class Error(_Event, frozen=True):
    """Something we sent was refused, or the server failed; the session usually goes on."""

    error: ApiError


class Committed(_Event, frozen=True):
    """The input buffer became a user item."""

    item_id: str


class SpeechStarted(_Event, frozen=True):
    """Server turn detection heard speech."""

    audio_start_ms: int = 0


class SpeechStopped(_Event, frozen=True):
    """Server turn detection heard a pause."""

    audio_end_ms: int = 0


class Transcribed(_Event, frozen=True):
    """The words of a user item."""

    item_id: str
    transcript: str


class TranscriptionFailed(_Event, frozen=True):
    """A user item has no words."""

    item_id: str


class ResponseBody(msgspec.Struct, frozen=True):
    """A response as it stands."""

    id: str
    status: str = ""
    status_details: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class ResponseCreated(_Event, frozen=True):
    """A response has begun."""

    response: ResponseBody


class ResponseDone(_Event, frozen=True):
    """A response is over, whatever became of it."""

    response: ResponseBody


class Item(msgspec.Struct, frozen=True):
    """An item of the conversation."""

    id: str
    type: str
    name: str = ""
    "of the function, where it is a call of one"


class ItemAdded(_Event, frozen=True):
    """A response has a further item."""

    response_id: str
    item: Item


class AudioDelta(_Event, frozen=True):
    """Sound of an item, base64."""

    response_id: str
    item_id: str
    delta: str

    def sound(self) -> bytes:
        """Decode the sound; raises ValueError when it is not base64."""
        return binascii.a2b_base64(self.delta)


class AudioDone(_Event, frozen=True):
    """An item has no further sound."""

    response_id: str
    item_id: str


class TranscriptDelta(_Event, frozen=True):
    """Words of an item as they are spoken."""

    response_id: str
    item_id: str
    delta: str


class ToolCall(_Event, frozen=True):
    """The model wants a function called."""

    response_id: str
    call_id: str
    arguments: str
    item_id: str = ""
    name: str = ""
    "left out by some servers, which name it when they add the item"


class RateLimits(_Event, frozen=True):
    """What may still be asked for."""

    rate_limits: list[dict[str, Any]] = []


class Unknown(msgspec.Struct, frozen=True):
    """An event that this gateway has no use for."""

    type: str
    error: Any = None
    "what is wrong, where it says that something is"


ServerEvent = (
    SessionCreated
    | SessionUpdated
    | Error
    | Committed
    | SpeechStarted
    | SpeechStopped
    | Transcribed
    | TranscriptionFailed
    | ResponseCreated
    | ResponseDone
    | ItemAdded
    | AudioDelta
    | AudioDone
    | TranscriptDelta
    | ToolCall
    | RateLimits
    | Unknown
)

_KINDS: dict[str, type[_Event]] = {
    "session.created": SessionCreated,
    "session.updated": SessionUpdated,
    "error": Error,
    "input_audio_buffer.committed": Committed,
    "input_audio_buffer.speech_started": SpeechStarted,
    "input_audio_buffer.speech_stopped": SpeechStopped,
    "conversation.item.input_audio_transcription.completed": Transcribed,
    "conversation.item.input_audio_transcription.failed": TranscriptionFailed,
    "response.created": ResponseCreated,
    "response.done": ResponseDone,
    "response.output_item.added": ItemAdded,
    "response.output_audio.delta": AudioDelta,
    "response.output_audio.done": AudioDone,
    "response.output_audio_transcript.delta": TranscriptDelta,
    "response.function_call_arguments.done": ToolCall,
    "rate_limits.updated": RateLimits,
}
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in _KINDS.items()}
_TYPE = msgspec.json.Decoder(Unknown)


def parse(text: str | bytes) -> ServerEvent:
    """Read one server event; raises ValueError for what is no event or lacks a needed field."""
    try:
        kind = decode(_TYPE, text)
        decoder = _DECODERS.get(kind.type)
        if decoder is None and isinstance(kind.error, dict):
            decoder = _DECODERS["error"]  # by a name of its server's, or of a proxy before it
        return kind if decoder is None else decode(decoder, text)  # type: ignore[return-value]
    except ValueError as wrong:
        raise ValueError(f"not a Realtime event: {wrong}") from None


# --- what we send --------------------------------------------------------------------------


def append_audio(sound: bytes) -> str:
    """Write `input_audio_buffer.append` without a JSON encoder: it goes out 50 times a second."""
    encoded = binascii.b2a_base64(sound, newline=False).decode("ascii")
    return '{"type":"input_audio_buffer.append","audio":"' + encoded + '"}'


def write(kind: str, event_id: str = "", **fields: Any) -> str:
    """Write any other client event."""
    event: dict[str, Any] = {"type": kind, **fields}
    if event_id:
        event["event_id"] = event_id
    return msgspec.json.encode(event).decode()


def audio_format(codec: str) -> Json:
    """Name a wire form as the API does; anything but G.711 travels as 24 kHz PCM."""
    if codec in ("pcmu", "pcma"):
        return {"type": f"audio/{codec}"}
    return {"type": "audio/pcm", "rate": 24000}


def tools(specs: tuple[ToolSpec, ...]) -> list[Json]:
    """Write tools as function definitions."""
    return [
        {
            "type": "function",
            "name": spec.name,
            "description": spec.description,
            "parameters": dict(spec.parameters),
        }
        for spec in specs
    ]


def items(history: tuple[Entry, ...]) -> list[Json]:
    """Write a conversation as items; words stand for assistant sound, which cannot be created."""
    return [_item(entry) for entry in history]


def _item(entry: Entry) -> Json:
    match entry.role:
        case "caller":
            return _message("user", "input_text", entry.text)
        case "agent":
            return _message("assistant", "output_text", entry.text)
        case "note":
            return _message("system", "input_text", entry.text)
        case "tool_ask":
            return {
                "type": "function_call",
                "call_id": entry.ask,
                "name": entry.name,
                "arguments": msgspec.json.encode(dict(entry.data)).decode(),
            }
        case "tool_result":
            return {
                "type": "function_call_output",
                "call_id": entry.ask,
                "output": msgspec.json.encode(dict(entry.data)).decode(),
            }


def _message(role: str, part: str, text: str) -> Json:
    return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}
