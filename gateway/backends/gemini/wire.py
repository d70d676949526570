"""The messages of Google's Live API (BidiGenerateContent) that a voice gateway sends and reads."""

from __future__ import annotations

import binascii
from typing import Any

import msgspec

from gateway.backends.gemini.settings import GeminiSettings
from gateway.events import Entry, Json
from gateway.plumbing.wire_json import decode
from gateway.ports import BackendStart, ToolSpec

INPUT_RATE = 16000
"""What the model hears; it takes any rate and works at this one."""

OUTPUT_RATE = 24000
"""What it always speaks."""


class _Camel(msgspec.Struct, frozen=True, rename="camel"):
    """Names are in camel case on the wire; fields that are not used are skipped."""


class Blob(_Camel, frozen=True):
    """Bytes in base64."""

    data: str = ""
    mime_type: str = ""

    def sound(self) -> bytes:
        """Decode the sound; raises ValueError when it is not base64."""
        return binascii.a2b_base64(self.data)


class Part(_Camel, frozen=True):
    """A piece of what the model says."""

    inline_data: Blob | None = None
    text: str = ""
    thought: bool = False


class Content(_Camel, frozen=True):
    """What the model says."""

    parts: list[Part] = []


class Words(_Camel, frozen=True):
    """A piece of transcript."""

    text: str = ""


class ServerContent(_Camel, frozen=True):
    """The turn as it goes on."""

    model_turn: Content | None = None
    input_transcription: Words | None = None
    output_transcription: Words | None = None
    interrupted: bool = False
    generation_complete: bool = False
    turn_complete: bool = False


class FunctionCall(_Camel, frozen=True):
    """The model wants a function called."""

    name: str
    id: str = ""
    args: dict[str, Any] = {}


class ToolCall(_Camel, frozen=True):
    """All calls of one round."""

    function_calls: list[FunctionCall] = []


class Cancellation(_Camel, frozen=True):
    """Calls whose answers are not wanted any more."""

    ids: list[str] = []


class GoAway(_Camel, frozen=True):
    """The connection is about to be closed."""

    time_left: str = ""


class Resumption(_Camel, frozen=True):
    """With this the next connection goes on where this one is."""

    new_handle: str = ""
    resumable: bool = False


class ServerMessage(_Camel, frozen=True):
    """One message; several of its parts may be there at once."""

    setup_complete: dict[str, Any] | None = None
    server_content: ServerContent | None = None
    tool_call: ToolCall | None = None
    tool_call_cancellation: Cancellation | None = None
    go_away: GoAway | None = None
    session_resumption_update: Resumption | None = None
    usage_metadata: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(ServerMessage)


def parse(message: bytes) -> ServerMessage:
    """Read one message; raises ValueError for what is none."""
    try:
        return decode(_DECODER, message)
    except ValueError as wrong:
        raise ValueError(f"not a message of the Live API: {wrong}") from None


# --- what we send --------------------------------------------------------------------------


def setup(start: BackendStart, settings: GeminiSettings, handle: str) -> str:
    """Write the first message."""
    detection = {"disabled": not settings.owns_turns}
    body: dict[str, Any] = {
        "model": settings.model,
        "generationConfig": {
            "responseModalities": ["AUDIO"],
            "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": settings.voice}}},
        },
        "realtimeInputConfig": {
            "automaticActivityDetection": detection,
            "activityHandling": "START_OF_ACTIVITY_INTERRUPTS",
            "turnCoverage": "TURN_INCLUDES_ONLY_ACTIVITY",
        },
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
        "sessionResumption": {"handle": handle} if handle else {},
        "contextWindowCompression": {"slidingWindow": {}},
    }
    if start.instructions:
        body["systemInstruction"] = {"parts": [{"text": start.instructions}]}
    if start.tools:
        body["tools"] = [{"functionDeclarations": [_declaration(t) for t in start.tools]}]
    return write(setup=body)


def _declaration(spec: ToolSpec) -> Json:
    return {
        "name": spec.name,
        "description": spec.description,
        "parametersJsonSchema": dict(spec.parameters),
    }


def audio(pcm: bytes) -> str:
    """Write sound without a JSON encoder: it goes out 50 times a second."""
    data = binascii.b2a_base64(pcm, newline=False).decode("ascii")
    head = '{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":"'
    return head + data + '"}}}'


ACTIVITY_START = '{"realtimeInput":{"activityStart":{}}}'
ACTIVITY_END = '{"realtimeInput":{"activityEnd":{}}}'


def turns(entries: tuple[Entry, ...], *, complete: bool) -> str:
    """Write text of both sides; `complete` asks for an answer."""
    written = [{"role": role, "parts": [{"text": text}]} for role, text in _lines(entries)]
    return write(clientContent={"turns": written, "turnComplete": complete})


def _lines(entries: tuple[Entry, ...]) -> list[tuple[str, str]]:
    lines = []
    for entry in entries:
        match entry.role:
            case "caller":
                lines.append(("user", entry.text))
            case "agent":
                lines.append(("model", entry.text))
            case "note":
                lines.append(("user", f"({entry.text})"))
            case "tool_ask":
                lines.append(("model", f"(asked {entry.name} with {dict(entry.data)})"))
            case "tool_result":
                lines.append(("user", f"({entry.name} answered {dict(entry.data)})"))
    return lines


def tool_answer(ask: str, name: str, result: Json) -> str:
    """Write a function's result."""
    return write(
        toolResponse={"functionResponses": [{"id": ask, "name": name, "response": dict(result)}]}
    )


def write(**message: Any) -> str:
    """Write a message; each has one top-level key."""
    return msgspec.json.encode(message).decode()
