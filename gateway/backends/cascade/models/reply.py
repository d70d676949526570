"""Reads a streamed chat completion: what is to be said, what tools are asked for, what was counted.

Takes every server's chunks as they are: a usage chunk without choices, tool requests in pieces that
interleave, a chain of thought in fields of its own or between marks in the text, and reasons for
the end that nobody has heard of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall
from openai.types.completion_usage import (
    CompletionTokensDetails,
    CompletionUsage,
    PromptTokensDetails,
)

from gateway.backends.cascade.ports import ModelEvent, ModelUsage, TextDelta, ToolDelta
from gateway.events import Json
from gateway.plumbing.wire_json import parse

OPEN, CLOSE = "<think>", "</think>"
"""Marks around a chain of thought where a server has no parser for it."""

BROKEN = frozenset({"error", "abort"})
"""Reasons for an end that vLLM gives when it could not go on."""


@dataclass(slots=True)
class _Call:
    """A tool request so far."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Spoken:
    """Holds back what stands between thinking marks at the beginning of an answer."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "beginning"

    def feed(self, text: str) -> str:
        """Take the next piece of text; give what of it may be said by now."""
        if self._state == "speaking":
            return text
        self._held += text
        if self._state == "beginning":
            begun = self._held.lstrip()
            if len(begun) < len(OPEN) and OPEN.startswith(begun):
                return ""
            if not begun.startswith(OPEN):
                return self._speak(self._held)
            self._state = "thinking"
        _, mark, rest = self._held.partition(CLOSE)
        if not mark:
            self._held = self._held[-len(CLOSE) :]
            return ""
        return self._speak(rest.lstrip())

    def end(self) -> str:
        """Return what was held and turned out to be no mark."""
        return self._held if self._state == "beginning" else ""

    def _speak(self, text: str) -> str:
        if not text.strip() and self._state == "thinking":
            self._state, self._held = "beginning", ""
            return ""
        self._state, self._held = "speaking", ""
        return text


class ReplyReader:
    """Turns the chunks of one answer into what the cascade knows."""

    def __init__(self, request_id: str) -> None:
        self._request_id = request_id
        self._spoken = Spoken()
        self._calls: dict[int, _Call] = {}
        self._ended = ""

    def feed(self, chunk: ChatCompletionChunk) -> Iterator[ModelEvent]:
        """Take a chunk; raise OSError when the server could not go on."""
        for choice in chunk.choices or ():
            delta = choice.delta
            if delta is not None:
                # Half a surrogate pair, as of an emoji cut in two, is no text for anybody.
                said = (delta.content or "") + (delta.refusal or "")
                text = self._spoken.feed(said.encode(errors="ignore").decode())
                if text:
                    yield TextDelta(text)
                for piece in delta.tool_calls or ():
                    self._merge(piece)
            if choice.finish_reason:
                self._ended = str(choice.finish_reason)
        if self._ended in BROKEN:
            raise OSError(f"the model stopped: {self._ended}")
        if chunk.usage is not None:
            yield ModelUsage(_figures(chunk.usage))

    def end(self) -> Iterator[ModelEvent]:
        """Return what is only known at the end; raise OSError when the answer has none."""
        if not self._ended:
            raise OSError("the answer was cut off")
        if rest := self._spoken.end():
            yield TextDelta(rest)
        for index, call in sorted(self._calls.items()):
            if not call.name:
                raise OSError("the model asked for a tool without a name")
            ask = call.id or f"{self._request_id}-{index}"
            yield ToolDelta(ask, call.name, _arguments(call))

    def _merge(self, piece: ChoiceDeltaToolCall) -> None:
        """Add a piece to the request of its index; only the first piece has id and name."""
        call = self._calls.setdefault(piece.index or 0, _Call())
        call.id = call.id or piece.id or ""
        if piece.function is not None:
            call.name = call.name or piece.function.name or ""
            call.arguments.append(piece.function.arguments or "")


def _arguments(call: _Call) -> Json:
    text = "".join(call.arguments).strip()
    try:
        found = parse(text or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OSError(f"the model asked for {call.name} with arguments that are no JSON object")
    return found


def _figures(usage: CompletionUsage) -> dict[str, int]:
    """Name what servers count; what they do not count is left out."""
    counted: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }
    # The library builds these of whatever a server sends, unchecked.
    match usage.prompt_tokens_details:
        case PromptTokensDetails(cached_tokens=cached):
            counted["cached_tokens"] = cached
        case _:
            pass
    match usage.completion_tokens_details:
        case CompletionTokensDetails(reasoning_tokens=reasoning):
            counted["reasoning_tokens"] = reasoning
        case _:
            pass
    return {name: count for name, count in counted.items() if isinstance(count, int)}
