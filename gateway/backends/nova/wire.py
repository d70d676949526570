"""The events of Amazon's bidirectional speech stream (Nova Sonic), as JSON documents."""

from __future__ import annotations

import binascii
from typing import Any

import msgspec

from gateway.backends.nova.settings import NovaSettings
from gateway.events import Entry, Json
from gateway.plumbing.wire_json import decode
from gateway.plumbing.wire_json import parse as parse_json
from gateway.ports import BackendStart, ToolSpec

PROMPT = "call"
MICROPHONE = "caller"

RATES = (8000, 16000, 24000)
"""Rates the model takes and gives; G.711 it does not know."""

MOST_BYTES = 1000
"""Of one text: the service takes about a kilobyte at once."""

MOST_HISTORY = 40
"""Messages a session may begin with."""


class Content(msgspec.Struct, frozen=True, rename="camel"):
    """A block begins."""

    content_id: str
    role: str = ""
    additional_model_fields: str = ""

    @property
    def stage(self) -> str:
        """SPECULATIVE: what is planned to be said; FINAL: what was said."""
        try:
            fields = parse_json(self.additional_model_fields or "{}")
        except ValueError:
            return ""
        return str(fields.get("generationStage", "")) if isinstance(fields, dict) else ""


class Text(msgspec.Struct, frozen=True, rename="camel"):
    """Text of a block."""

    content_id: str
    content: str

    @property
    def interrupted(self) -> bool:
        """It is no text but a sign that the caller cut in, in whatever spacing."""
        if "interrupted" not in self.content:
            return False
        try:
            said = parse_json(self.content)
        except ValueError:
            return False
        return isinstance(said, dict) and said.get("interrupted") is True


class Audio(msgspec.Struct, frozen=True, rename="camel"):
    """Sound of a block."""

    content_id: str
    content: str

    def sound(self) -> bytes:
        """Decode the sound; raises ValueError when it is not base64."""
        return binascii.a2b_base64(self.content)


class ToolUse(msgspec.Struct, frozen=True, rename="camel"):
    """The model wants a tool."""

    tool_name: str
    tool_use_id: str
    content: str = ""
    content_id: str = ""


class ContentEnd(msgspec.Struct, frozen=True, rename="camel"):
    """A block ends."""

    content_id: str
    type: str = ""
    stop_reason: str = ""


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """What the model counted so far."""

    total_tokens: int = 0
    total_input_tokens: int = 0
    total_output_tokens: int = 0


class CompletionEnd(msgspec.Struct, frozen=True, rename="camel"):
    """An answer is over."""


class _Events(msgspec.Struct, frozen=True, rename="camel"):
    content_start: Content | None = None
    text_output: Text | None = None
    audio_output: Audio | None = None
    tool_use: ToolUse | None = None
    content_end: ContentEnd | None = None
    usage_event: Usage | None = None
    completion_end: CompletionEnd | None = None


class _Message(msgspec.Struct, frozen=True):
    event: _Events


ServerEvent = Content | Text | Audio | ToolUse | ContentEnd | Usage | CompletionEnd

_DECODER = msgspec.json.Decoder(_Message)


def parse(message: str | bytes) -> ServerEvent | None:
    """Read one event; None for one that is not used; raises ValueError for what is none."""
    try:
        events = decode(_DECODER, message).event
    except ValueError as wrong:
        raise ValueError(f"not a Nova Sonic event: {wrong}") from None
    found: tuple[ServerEvent | None, ...] = (
        events.content_start,
        events.text_output,
        events.audio_output,
        events.tool_use,
        events.content_end,
        events.usage_event,
        events.completion_end,
    )
    return next((one for one in found if one is not None), None)


# --- what we send --------------------------------------------------------------------------


def opening(start: BackendStart, settings: NovaSettings, rate: int) -> list[str]:
    """Write everything that comes before the caller's sound, in the order that is asked for."""
    session: dict[str, Any] = {
        "inferenceConfiguration": {
            "maxTokens": settings.max_tokens,
            "topP": settings.top_p,
            "temperature": settings.temperature,
        }
    }
    if not settings.first_generation:
        session["turnDetectionConfiguration"] = {
            "endpointingSensitivity": settings.sensitivity.upper()
        }
    events = [write("sessionStart", **session), _prompt(start, settings, rate)]
    instructions = start.instructions or "You answer the telephone. Be brief."
    events += text("system", "SYSTEM", instructions)
    for number, (role, said) in enumerate(_lines(start.history)):
        events += text(f"history{number}", role, said)
    events.append(
        write(
            "contentStart",
            promptName=PROMPT,
            contentName=MICROPHONE,
            type="AUDIO",
            interactive=True,
            role="USER",
            audioInputConfiguration=_sound(rate),
        )
    )
    return events


def _prompt(start: BackendStart, settings: NovaSettings, rate: int) -> str:
    prompt: dict[str, Any] = {
        "promptName": PROMPT,
        "textOutputConfiguration": {"mediaType": "text/plain"},
        "audioOutputConfiguration": {**_sound(rate), "voiceId": settings.voice},
    }
    if start.tools:
        prompt["toolUseOutputConfiguration"] = {"mediaType": "application/json"}
        prompt["toolConfiguration"] = {
            "tools": [{"toolSpec": _tool(spec)} for spec in start.tools],
            "toolChoice": {"auto": {}},
        }
    return write("promptStart", **prompt)


def _sound(rate: int) -> Json:
    return {
        "mediaType": "audio/lpcm",
        "sampleRateHertz": rate,
        "sampleSizeBits": 16,
        "channelCount": 1,
        "encoding": "base64",
        "audioType": "SPEECH",
    }


def _tool(spec: ToolSpec) -> Json:
    schema = msgspec.json.encode(dict(spec.parameters)).decode()
    return {
        "name": spec.name,
        "description": spec.description,
        "inputSchema": {"json": schema},  # a string: the service parses it once more
    }


def _lines(history: tuple[Entry, ...]) -> list[tuple[str, str]]:
    """Write a conversation as turns that alternate and begin with the caller's."""
    lines: list[tuple[str, str]] = []
    for entry in history:
        match entry.role:
            case "caller":
                role, said = "USER", entry.text
            case "agent":
                role, said = "ASSISTANT", entry.text
            case "note":
                role, said = "USER", f"({entry.text})"
            case "tool_ask":
                role, said = "ASSISTANT", f"({entry.name} is asked with {dict(entry.data)})"
            case "tool_result":
                role, said = "USER", f"({entry.name} answered {dict(entry.data)})"
        if lines and lines[-1][0] == role:
            lines[-1] = (role, f"{lines[-1][1]}\n{said}")
        else:
            lines.append((role, said))
    lines = lines[-MOST_HISTORY:]
    if lines and lines[0][0] != "USER":
        lines = [("USER", "(The call goes on.)"), *lines[1 - MOST_HISTORY :]]
    return lines


def audio(pcm: bytes) -> str:
    """Write the caller's sound without a JSON encoder: it goes out 50 times a second."""
    content = binascii.b2a_base64(pcm, newline=False).decode("ascii")
    head = '{"event":{"audioInput":{"promptName":"call","contentName":"caller","content":"'
    return head + content + '"}}}'


def text(name: str, role: str, said: str, *, interactive: bool = False) -> list[str]:
    """Write a block of text, in pieces that the service takes."""
    begin = {
        "promptName": PROMPT,
        "contentName": name,
        "type": "TEXT",
        "interactive": interactive,
        "role": role,
        "textInputConfiguration": {"mediaType": "text/plain"},
    }
    pieces = [
        write("textInput", promptName=PROMPT, contentName=name, content=piece)
        for piece in _pieces(said)
    ]
    return [write("contentStart", **begin), *pieces, _end(name)]


def _pieces(said: str) -> list[str]:
    """Cut text so that each piece has few enough bytes and no character is torn."""
    pieces, rest = [], said.encode()
    while len(rest) > MOST_BYTES:
        cut = MOST_BYTES
        while rest[cut] & 0xC0 == 0x80:
            cut -= 1
        pieces.append(rest[:cut].decode())
        rest = rest[cut:]
    return [*pieces, rest.decode()]


def tool_answer(name: str, ask: str, result: Json) -> list[str]:
    """Write a tool's result."""
    begin = {
        "promptName": PROMPT,
        "contentName": name,
        "interactive": False,
        "type": "TOOL",
        "role": "TOOL",
        "toolResultInputConfiguration": {
            "toolUseId": ask,
            "type": "TEXT",
            "textInputConfiguration": {"mediaType": "text/plain"},
        },
    }
    content = msgspec.json.encode(dict(result)).decode()
    return [
        write("contentStart", **begin),
        write("toolResult", promptName=PROMPT, contentName=name, content=content),
        _end(name),
    ]


def closing() -> list[str]:
    """Write the goodbye."""
    return [_end(MICROPHONE), write("promptEnd", promptName=PROMPT), write("sessionEnd")]


def _end(name: str) -> str:
    return write("contentEnd", promptName=PROMPT, contentName=name)


def write(kind: str, **fields: Any) -> str:
    """Write any event."""
    return msgspec.json.encode({"event": {kind: fields}}).decode()
