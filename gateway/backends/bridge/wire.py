"""Parley's own small protocol for a speech model of one's own: `docs/bridge.md` describes it."""

from __future__ import annotations

import struct
from typing import Any, Literal

import msgspec

from gateway.backends.session import known_arguments
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendCommand,
    BackendLost,
    BackendTurn,
    CallerWords,
    CancelReply,
    Disregard,
    Draft,
    DropDraft,
    Entry,
    Inform,
    Listen,
    ReplyEnded,
    ReplyText,
    Respond,
    ToolAsked,
    Truncate,
    UtteranceEnded,
)
from gateway.plumbing.wire_json import decode
from gateway.ports import BackendEvent, BackendStart

VERSION = 1

HEADER = struct.Struct("!II")
"""In front of the model's sound: reply and utterance, unsigned 32 bits each, network order."""


class Ready(msgspec.Struct, frozen=True, tag="ready", forbid_unknown_fields=False):
    """The model can be talked to."""


class Words(msgspec.Struct, frozen=True, tag="words"):
    """What the caller said in a turn."""

    turn: int
    text: str
    final: bool = True


class Text(msgspec.Struct, frozen=True, tag="text"):
    """What the model is saying."""

    reply: int
    utterance: int
    text: str


class UtteranceEnd(msgspec.Struct, frozen=True, tag="utterance_end"):
    """An utterance has no further sound."""

    reply: int
    utterance: int
    text: str = ""


class ReplyEnd(msgspec.Struct, frozen=True, tag="reply_end"):
    """A reply has no further utterance."""

    reply: int


class Tool(msgspec.Struct, frozen=True, tag="tool"):
    """The model wants a tool run."""

    reply: int
    ask: str
    name: str
    arguments: dict[str, Any] = {}


class Turn(msgspec.Struct, frozen=True, tag="turn"):
    """A model that owns turns has decided."""

    kind: Literal["speech_started", "speech_stopped", "ended", "interrupted"]


class Error(msgspec.Struct, frozen=True, tag="error"):
    """Something failed."""

    message: str
    reply: int | None = None
    fatal: bool = False


ModelMessage = Ready | Words | Text | UtteranceEnd | ReplyEnd | Tool | Turn | Error
_DECODER: msgspec.json.Decoder[ModelMessage] = msgspec.json.Decoder(ModelMessage)


def parse(message: bytes) -> ModelMessage:
    """Read one text message of the model; raises ValueError that says what is wrong and where."""
    try:
        return decode(_DECODER, message)
    except ValueError as wrong:
        raise ValueError(f"not a message of the bridge protocol: {wrong}") from None


def parse_sound(message: bytes, form: str) -> AgentAudio:
    """Read one binary message of the model; raises ValueError."""
    if len(message) < HEADER.size:
        raise ValueError("sound without reply and utterance in front")
    reply, utterance = HEADER.unpack_from(message)
    sound = message[HEADER.size :]
    if form == "l16":
        if len(sound) % 2:
            raise ValueError("half a sample of sound")
        return AgentAudio(reply, utterance, sound)
    return AgentAudio(reply, utterance, b"", payload=sound)


def event(message: ModelMessage) -> BackendEvent | None:
    """Return the event a message stands for; None for `ready`."""
    match message:
        case Ready():
            return None
        case Words():
            return CallerWords(message.turn, message.text, message.final)
        case Text():
            return ReplyText(message.reply, message.utterance, message.text)
        case UtteranceEnd():
            return UtteranceEnded(message.reply, message.utterance, message.text)
        case ReplyEnd():
            return ReplyEnded(message.reply)
        case Tool():
            return ToolAsked(
                message.reply, message.ask, message.name, known_arguments(message.arguments)
            )
        case Turn():
            return BackendTurn(message.kind)
        case Error():
            return BackendLost(
                message.message, part="model", reply=message.reply, fatal=message.fatal
            )


def start(begin: BackendStart) -> str:
    """Write the first message of a call."""
    info = begin.info
    return _write(
        "start",
        version=VERSION,
        call_id=info.call_id,
        agent=info.agent,
        codec=info.codec,
        rate=info.rate,
        instructions=begin.instructions,
        tools=[
            {"name": t.name, "description": t.description, "parameters": dict(t.parameters)}
            for t in begin.tools
        ],
        history=[_entry(entry) for entry in begin.history],
        variables=dict(info.variables),
    )


def command(order: BackendCommand) -> str | None:
    """Write a command; None for one that this protocol has no word for."""
    match order:
        case Listen(start=at):
            return _write("listen", start=at)
        case Disregard():
            return _write("disregard")
        case Respond():
            return _write(
                "respond",
                turn=order.turn,
                reply=order.reply,
                utterance=order.utterance,
                start=order.start,
                end=order.end,
                text=order.text,
                again=order.again,
            )
        case CancelReply(reply=reply):
            return _write("cancel", reply=reply)
        case Truncate():
            return _write(
                "truncate",
                utterance=order.utterance,
                heard_seconds=round(order.heard_seconds, 3),
                heard_text=order.heard_text,
            )
        case AnswerTool():
            return _write(
                "tool_result",
                reply=order.reply,
                ask=order.ask,
                name=order.name,
                result=dict(order.result),
                proceed=order.proceed,
                utterance=order.utterance,
            )
        case Inform(text=text):
            return _write("inform", text=text)
        case Draft() | DropDraft():
            return None


def _entry(entry: Entry) -> dict[str, Any]:
    plain = {"role": entry.role, "text": entry.text, "ask": entry.ask, "name": entry.name}
    written: dict[str, Any] = {key: value for key, value in plain.items() if value}
    if entry.data:
        written["data"] = dict(entry.data)
    if entry.interrupted:
        written["interrupted"] = True
    return written


def _write(kind: str, **fields: Any) -> str:
    return msgspec.json.encode({"type": kind, **fields}).decode()
