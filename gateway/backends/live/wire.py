"""The events of OpenAI's Live API that a voice gateway sends and reads.

Parsing is strict about what is used and keeps what is unknown; nothing here opens a socket.
"""

from __future__ import annotations

import binascii
from typing import Any, Literal

import msgspec

from gateway.backends.live.settings import LiveSettings
from gateway.events import Entry, Json
from gateway.plumbing.wire_json import decode
from gateway.ports import BackendStart, ToolSpec

PCM_RATE = 24000
"""The rate of anything that is not G.711; the API also takes 16,000."""

MOST_ITEMS = 128
"""Messages of history that a session may begin with."""

MOST_CHARACTERS = 1500
"""Of one appended text: its limit is 500 tokens, of three characters or more in most languages."""


class _Event(msgspec.Struct, frozen=True, gc=False):
    """A server event; fields that are not used are skipped without being parsed."""


class Started(_Event, frozen=True):
    """The configuration holds, sound may flow."""


class Closed(_Event, frozen=True):
    """The session is over."""

    reason: str
    usage: dict[str, Any] = {}


class Sound(_Event, frozen=True):
    """The model speaks."""

    delta: str

    def sound(self) -> bytes:
        """Decode the sound; raises ValueError when it is not base64."""
        return binascii.a2b_base64(self.delta)


class CallerText(_Event, frozen=True):
    """What the caller says, bit by bit."""

    delta: str


class AgentText(_Event, frozen=True):
    """What the model says, bit by bit."""

    delta: str


class DelegationBody(msgspec.Struct, frozen=True):
    """Work that the voice model gave away."""

    id: str
    target: Literal["client", "responses", "decisions"]


class Delegated(_Event, frozen=True):
    """The voice model gave work away; the task itself is not in it."""

    delegation: DelegationBody


class Item(msgspec.Struct, frozen=True):
    """What a Responses model made."""

    type: str = ""
    call_id: str = ""
    name: str = ""
    arguments: str = ""


class Nested(msgspec.Struct, frozen=True):
    """An event of the Responses model."""

    type: str
    item: Item | None = None


class ResponseEvent(_Event, frozen=True):
    """An event of the Responses model that does the delegated work."""

    event: Nested


class Usage(_Event, frozen=True):
    """Seconds so far: a sum, never to be added up."""

    usage: dict[str, Any]


class ApiError(msgspec.Struct, frozen=True):
    """What the server complains of."""

    code: str = ""
    message: str = ""


class Error(_Event, frozen=True):
    """Something we sent was refused, or the server failed."""

    error: ApiError


class Unknown(msgspec.Struct, frozen=True):
    """An event that this gateway has no use for."""

    type: str
    error: Any = None
    "what is wrong, where it says that something is"


ServerEvent = (
    Started
    | Closed
    | Sound
    | CallerText
    | AgentText
    | Delegated
    | ResponseEvent
    | Usage
    | Error
    | Unknown
)

_KINDS: dict[str, type[_Event]] = {
    "session.started": Started,
    "session.closed": Closed,
    "session.output_audio.delta": Sound,
    "session.input_transcript.delta": CallerText,
    "session.output_transcript.delta": AgentText,
    "session.delegation.created": Delegated,
    "response.event": ResponseEvent,
    "session.usage.updated": Usage,
    "error": Error,
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
        raise ValueError(f"not a Live event: {wrong}") from None


# --- what we send --------------------------------------------------------------------------


def start(begin: BackendStart, settings: LiveSettings) -> str:
    """Write the first event; nearly all of it can never be changed afterwards."""
    session: dict[str, Any] = {
        "model": settings.model,
        "audio": {
            "format": audio_format(begin.info.codec),
            "output": {"voice": settings.voice},
        },
        "delegation": _delegation(begin, settings),
    }
    if begin.instructions:
        session["instructions"] = begin.instructions
    if begin.history:
        session["input"] = items(begin.history)
    return write("session.start", session=session)


def _delegation(begin: BackendStart, settings: LiveSettings) -> Json:
    if settings.delegation == "client":
        return {"type": "client"}
    responses: dict[str, Any] = {
        "model": settings.delegate_model,
        "tools": [_tool(spec) for spec in begin.tools],
    }
    instructions = settings.delegate_instructions or begin.instructions
    if instructions:
        responses["instructions"] = instructions
    return {"type": "responses", "responses": responses}


def _tool(spec: ToolSpec) -> Json:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
    }


def audio_format(codec: str) -> Json:
    """Name a wire form as the API does; here G.711 needs its rate too."""
    if codec in ("pcmu", "pcma"):
        return {"type": f"audio/{codec}", "rate": 8000}
    return {"type": "audio/pcm", "rate": PCM_RATE}


def append_audio(sound: bytes) -> str:
    """Write the caller's sound without a JSON encoder: it goes out 50 times a second."""
    encoded = binascii.b2a_base64(sound, newline=False).decode("ascii")
    return '{"type":"session.input_audio.append","audio":"' + encoded + '"}'


def think(text: str) -> str:
    """Write something the model is to know and not to say."""
    return write("session.thinking.append", content=text[:MOST_CHARACTERS], delegation_id=None)


def instruct(text: str) -> str:
    """Write something the model is to do."""
    return write("session.instructions.append", content=text[:MOST_CHARACTERS], delegation_id=None)


def comment(text: str, delegation: str) -> str:
    """Write what came of a delegation, for the model to speak of."""
    content = text[:MOST_CHARACTERS]
    return write("session.commentary.append", content=content, delegation_id=delegation)


def tool_answer(ask: str, result: Json) -> str:
    """Write a function's result for the Responses model."""
    output = msgspec.json.encode(dict(result)).decode()
    item = {"type": "function_call_output", "call_id": ask, "output": output}
    return write("response.item.create", item=item)


GO_ON = '{"type":"response.create"}'

CLOSE = '{"type":"session.close"}'
"""The goodbye: a connection that closes without one counts as lost."""


def write(kind: str, **fields: Any) -> str:
    """Write any other client event."""
    return msgspec.json.encode({"type": kind, **fields}).decode()


def items(history: tuple[Entry, ...]) -> list[Json]:
    """Write a conversation as the text messages that a session may begin with."""
    return [_message(entry) for entry in history[-MOST_ITEMS:]]


def _message(entry: Entry) -> Json:
    match entry.role:
        case "caller":
            role, text = "user", entry.text
        case "agent":
            role, text = "assistant", entry.text
        case "note":
            role, text = "developer", entry.text
        case "tool_ask":
            role, text = "developer", f"{entry.name} was asked with {dict(entry.data)}"
        case "tool_result":
            role, text = "developer", f"{entry.name} answered {dict(entry.data)}"
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
