"""Writes a conversation as chat messages, so that each prompt is the one before it plus an end.

Servers keep what they computed for a prompt and use it for the next one as far as both agree from
the first byte on. So instructions and tools come first and are the same in every call; an entry
becomes the same bytes whatever follows it; and nothing is ever put in front of or between what
was there before. What differs from call to call stands in the first note.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from gateway.backends.cascade.ports import ModelRequest
from gateway.events import Entry, Json
from gateway.ports import ToolSpec

Role = Literal["system", "developer", "user", "assistant", "tool"]

CUT = " —"
"""How an utterance ends that was cut: as a play writes it, so that a model which imitates it says
nothing strange."""

NOTE = "(Not said by the caller: {})"

BEGINNING = "(The call begins.)"
"""Stands before a greeting where the chat template wants the user to begin."""

RUNNING = '{"status": "running", "message": "This is not finished yet."}'
"""The result of a request that has none yet; servers refuse requests without results."""


@dataclass(slots=True)
class Message:
    """One chat message."""

    role: Role
    text: str
    calls: list[Json] = field(default_factory=list)
    answers: str = ""
    "the request that a tool's result belongs to"

    def wire(self) -> Json:
        """Return it as the API has it; the order of the keys is always the same."""
        message: dict[str, Any] = {"role": self.role, "content": self.text}
        if self.calls:
            message["content"] = self.text or None
            message["tool_calls"] = self.calls
        if self.answers:
            message["tool_call_id"] = self.answers
        return message


@dataclass(frozen=True, slots=True)
class PromptRules:
    """What a chat template takes."""

    notes_as: Literal["user", "system", "developer"] = "user"
    strict_turns: bool = False


def messages(request: ModelRequest, rules: PromptRules) -> list[Json]:
    """Write a request's instructions and history."""
    written = list(_written(request.history, rules))
    if rules.strict_turns:
        written = _taking_turns(written)
    if request.instructions:
        written.insert(0, Message("system", request.instructions))
    return [message.wire() for message in written]


def tools(specs: tuple[ToolSpec, ...]) -> list[Json]:
    """Write the tools, in the order they are given in."""
    return [
        {
            "type": "function",
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters or {"type": "object", "properties": {}},
            },
        }
        for spec in specs
    ]


def _written(history: tuple[Entry, ...], rules: PromptRules) -> Iterator[Message]:
    results = {entry.ask: entry for entry in history if entry.role == "tool_result"}
    round_: list[Entry] = []
    asked: set[str] = set()
    for entry in history:
        if entry.role != "tool_ask" and round_:
            yield from _round(round_, results)
            round_ = []
        match entry.role:
            case "caller":
                yield Message("user", entry.text)
            case "agent":
                yield Message("assistant", entry.text + CUT if entry.interrupted else entry.text)
            case "note":
                yield _note(entry.text, rules)
            case "tool_ask":
                asked.add(entry.ask)
                round_.append(entry)
            case "tool_result" if entry.ask not in asked:
                yield _note(f"The tool {entry.name} gave {_json(entry.data)}", rules)
            case "tool_result":
                pass  # stands right behind its request, where servers want it
    yield from _round(round_, results)


def _round(asks: list[Entry], results: dict[str, Entry]) -> Iterator[Message]:
    """Write the requests of one message, each followed by its result, whatever came between."""
    if not asks:
        return
    calls: list[Json] = [
        {
            "id": ask.ask,
            "type": "function",
            "function": {"name": ask.name, "arguments": _json(ask.data)},
        }
        for ask in asks
    ]
    yield Message("assistant", "", calls)
    for ask in asks:
        result = results.get(ask.ask)
        text = RUNNING if result is None else _json(result.data)
        yield Message("tool", text, answers=ask.ask)


def _note(text: str, rules: PromptRules) -> Message:
    return Message(rules.notes_as, NOTE.format(text) if rules.notes_as == "user" else text)


def _taking_turns(written: list[Message]) -> list[Message]:
    """Join neighbours of one side; the joined text grows at its end as the list would."""
    joined: list[Message] = []
    for message in written:
        last = joined[-1] if joined else None
        if last is None and message.role == "assistant":
            joined.append(Message("user", BEGINNING))
            last = joined[-1]
        joins = last is not None and last.role == message.role and message.role != "tool"
        if last is not None and joins and not last.calls:
            last.text = "\n".join(text for text in (last.text, message.text) if text)
            last.calls = message.calls
        else:
            joined.append(message)
    return joined


def _json(data: Json) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)
