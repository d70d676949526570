"""A small server that speaks the chat completions API as OpenAI, vLLM and SGLang do.

It refuses what they refuse (an unknown field, a tool request without its result, a priority where
none is scheduled), and each chunk it sends is validated against OpenAI's own published types.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, get_type_hints

from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import TypeAdapter

from tests.support.http_server import Exchange, HttpServer

PARAMS: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsStreaming)
WHOLE: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsNonStreaming)
KNOWN = frozenset(get_type_hints(CompletionCreateParamsStreaming))

VLLM_FIELDS = {"priority", "request_id", "session_id", "chat_template_kwargs", "cache_salt"}
SGLANG_FIELDS = {"priority", "rid", "chat_template_kwargs"}


@dataclass
class Say:
    """What the model answers to one request."""

    text: str = ""
    tools: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    first: float = 0.05
    "seconds to the first token"
    gap: float = 0.0
    "seconds between tokens"
    status: int = 200
    "anything else refuses"
    retry_after: str = ""
    error_inside: str = ""
    "an error event inside the stream, in place of the end"
    cut_after: int | None = None
    "tokens after which the connection breaks"
    thinking: str = ""
    thinking_field: str = "reasoning"
    finish: str = ""
    usage: bool = True
    raw_arguments: str | None = None
    garbage: bool = False


@dataclass
class Asked:
    """One request, and what became of it."""

    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    tokens: int = 0
    fate: Literal["", "done", "aborted", "cut", "refused"] = ""


class FakeChat:
    """Serves one model; `answers` are given in order, the last one again and again."""

    def __init__(
        self,
        answers: list[Say],
        dialect: Literal["openai", "vllm", "sglang"] = "openai",
        scheduling: bool = False,
    ) -> None:
        self.answers = answers
        self.dialect = dialect
        self.scheduling = scheduling
        self.asked: list[Asked] = []
        self._cached: dict[str, int] = {}
        self._ids = itertools.count(1)
        self.http = HttpServer(self._serve)

    @property
    def url(self) -> str:
        return f"{self.http.url}/v1"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeChat]:
        async with self.http.serving():
            yield self

    def answer(self, body: dict[str, Any]) -> Say:
        """Choose what a request is answered with."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def _serve(self, exchange: Exchange) -> None:
        body = exchange.request.json()
        now = asyncio.get_running_loop().time()
        asked = Asked(body, exchange.request.headers, now)
        self.asked.append(asked)
        try:
            wrong = self._wrong(exchange.request.path, body)
            if wrong:
                asked.fate = "refused"
                await exchange.answer(400, self._error(wrong, 400))
                return
            say = self.answer(body)
            if say.status != 200:
                asked.fate = "refused"
                headers = {"retry-after": say.retry_after} if say.retry_after else {}
                await exchange.answer(say.status, self._error("busy", say.status), headers)
                return
            if body.get("stream"):
                await self._stream(exchange, say, asked)
            else:
                await self._whole(exchange, say, asked)
        except asyncio.CancelledError:
            asked.fate = "aborted"
            raise

    def _error(self, message: str, status: int) -> dict[str, Any]:
        code: Any = status if self.dialect != "openai" else "some_code"
        return {"error": {"message": message, "type": "T", "param": None, "code": code}}

    def _wrong(self, path: str, body: dict[str, Any]) -> str:
        if path != "/v1/chat/completions":
            return f"no such path {path}"
        extras = {"vllm": VLLM_FIELDS, "sglang": SGLANG_FIELDS}.get(self.dialect, set())
        unknown = set(body) - KNOWN - extras
        if unknown:
            return f"Unrecognized request argument supplied: {', '.join(sorted(unknown))}"
        (PARAMS if body.get("stream") else WHOLE).validate_python(body)
        if self.dialect == "vllm" and body.get("priority", 0) and not self.scheduling:
            return "Got priority but priority scheduling is not enabled"
        return unanswered(body["messages"])

    async def _whole(self, exchange: Exchange, say: Say, asked: Asked) -> None:
        """Answer in one piece, in words alone."""
        message = {"role": "assistant", "content": say.text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        data = {
            "id": f"chat{next(self._ids)}",
            "object": "chat.completion",
            "created": 1,
            "model": asked.body["model"],
            "choices": [choice],
        }
        ChatCompletion.model_validate(data)
        await asyncio.sleep(say.first)
        await exchange.answer(200, data)
        asked.fate = "done"

    async def _stream(self, exchange: Exchange, say: Say, asked: Asked) -> None:
        await exchange.begin()
        base = {
            "id": f"chat{next(self._ids)}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": asked.body["model"],
        }

        async def chunk(delta: dict[str, Any], finish: str | None = None) -> None:
            data = {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            if finish in (None, "stop", "length", "tool_calls", "content_filter"):
                ChatCompletionChunk.model_validate(data)
            await exchange.event(data)

        if self.dialect == "vllm":
            await exchange.send(b": keep-alive\n\n")
        await asyncio.sleep(say.first)
        await chunk({"role": "assistant", "content": ""})
        if say.thinking:
            await chunk({say.thinking_field: say.thinking})
        for piece in pieces(say.text):
            if say.cut_after is not None and asked.tokens >= say.cut_after:
                break
            if asked.tokens:
                await asyncio.sleep(say.gap)
            asked.tokens += 1
            await chunk({"content": piece})
        if say.cut_after is not None:
            asked.fate = "cut"
            exchange.cut()
            return
        if say.garbage:
            await exchange.event("{not json")
        if say.error_inside:
            await exchange.event(self._error(say.error_inside, 500))
            await exchange.event("[DONE]")
            await exchange.end()
            return
        await self._tools(say, chunk)
        await chunk({}, say.finish or ("tool_calls" if say.tools else "stop"))
        if say.usage and asked.body.get("stream_options", {}).get("include_usage"):
            await self._usage(exchange, base, asked)
        await exchange.event("[DONE]")
        await exchange.end()
        asked.fate = "done"

    async def _tools(self, say: Say, chunk: Any) -> None:
        """Send the requests in pieces that interleave."""
        texts = []
        for index, (name, arguments) in enumerate(say.tools):
            function = {"name": name, "arguments": ""}
            head = {"index": index, "id": f"call_{next(self._ids)}", "type": "function"}
            await chunk({"tool_calls": [{**head, "function": function}]})
            raw = say.raw_arguments
            texts.append(json.dumps(arguments) if raw is None else raw)
        longest = max((len(text) for text in texts), default=0)
        for at in range(0, longest, 4):
            for index, text in enumerate(texts):
                if part := text[at : at + 4]:
                    delta = {"index": index, "function": {"arguments": part}}
                    await chunk({"tool_calls": [delta]})

    async def _usage(self, exchange: Exchange, base: dict[str, Any], asked: Asked) -> None:
        prompt = json.dumps([asked.body.get("tools"), asked.body["messages"]])
        cached = max((common(prompt, known) for known in self._cached), default=0)
        self._cached[prompt] = 1
        usage: dict[str, Any] = {
            "prompt_tokens": len(prompt) // 4,
            "completion_tokens": asked.tokens,
            "total_tokens": len(prompt) // 4 + asked.tokens,
            "prompt_tokens_details": {"cached_tokens": cached // 4},
        }
        data = {**base, "choices": [], "usage": usage}
        ChatCompletionChunk.model_validate(data)
        await exchange.event(data)


def unanswered(messages: list[dict[str, Any]]) -> str:
    """Say what OpenAI says where a request for a tool is not directly followed by its result."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return "a tool message must follow the request it answers"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"no tool message for {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    return f"no tool message for {waiting}" if waiting else ""


def common(one: str, other: str) -> int:
    """Count the characters that two texts have in common from the first on."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same


def pieces(text: str) -> list[str]:
    """Cut a text into tokens of about a word."""
    words = text.split(" ")
    return [word if at == 0 else f" {word}" for at, word in enumerate(words) if word or at]
