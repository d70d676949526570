"""A language model behind the chat completions API: OpenAI, vLLM, SGLang, llama.cpp and others."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import httpx2
import openai
import structlog
from openai.types.chat import ChatCompletionChunk

from gateway.backends.cascade.models.prompt import PromptRules, messages, tools
from gateway.backends.cascade.models.replicas import Replicas
from gateway.backends.cascade.models.reply import ReplyReader
from gateway.backends.cascade.models.settings import OpenAIModelSettings
from gateway.backends.cascade.ports import ModelEvent, ModelRequest
from gateway.events import Json
from gateway.plumbing.measured_http import AnswerBounds, measured
from gateway.plumbing.meter import Measure
from gateway.plumbing.trace_context import traceparent

OURS = frozenset({400, 401, 403, 404, 405, 413, 415, 422})
"""Answers that say something about the request, so that no other server would take it either."""

KEPT_OPEN = 30.0
"""Seconds an idle connection is kept: longer than callers speak, so that a turn finds it open."""

REPLY = AnswerBounds(2_000_000, Measure(500_000, 250_000))
"""Bytes of one reply: each token takes some 250, and a thousand a second are ten times as many as
the fastest servers give; two megabytes are half an hour of speech."""

PRIORITIES: Mapping[str, Mapping[str, int]] = {
    # vLLM: the lower number first, 0 where nothing is said.
    "vllm": {"confirmed": 0, "draft": 10, "background": 20},
    # SGLang: the higher number first; a difference of 10 stops what is running (its default).
    "sglang": {"confirmed": 20, "draft": 10, "background": 0},
}

log = structlog.get_logger("model")


class Refused(OSError):
    """A server answered, and would not do it."""

    def __init__(self, status: int, reason: str, retry_after: float | None) -> None:
        super().__init__(f"the model's server refused: {status} {reason}".strip())
        self.status = status
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class _Question:
    """One request, as it is sent."""

    id: str
    body: dict[str, Any]
    extra: dict[str, Any] = field(default_factory=dict)
    trace: Mapping[str, str] = field(default_factory=dict)
    "header by which the server's own traces join the call's"


class _Server:
    """One server: opens streams and gives failures their names."""

    def __init__(self, url: str, key: str, settings: OpenAIModelSettings) -> None:
        self.url = url
        timeout = httpx2.Timeout(settings.silent_seconds, connect=settings.connect_seconds)
        limits = httpx2.Limits(max_connections=None, keepalive_expiry=KEPT_OPEN)
        self._client = openai.AsyncOpenAI(
            base_url=url,
            api_key=key or "none",
            max_retries=0,  # the next attempt goes elsewhere, and at once
            timeout=timeout,
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=timeout, limits=limits, event_hooks=measured(REPLY)
            ),
        )

    async def chunks(self, question: _Question) -> AsyncGenerator[ChatCompletionChunk, None]:
        """Ask, and give the answer's chunks; closing the iterator closes the connection."""
        try:
            stream = await self._client.chat.completions.create(
                **question.body,
                extra_headers={"X-Request-Id": question.id, **question.trace},
                extra_body=question.extra,
            )
            try:
                async for chunk in stream:
                    yield chunk
            finally:
                # The connection is closed, not returned: that is what stops the generation.
                await stream.close()
        except openai.APITimeoutError as late:
            raise TimeoutError("the model's server did not answer in time") from late
        except httpx2.TimeoutException as late:
            raise TimeoutError("the model's server fell silent") from late
        except openai.APIStatusError as refused:
            raise _refused(refused) from refused
        except (openai.APIError, httpx2.HTTPError) as broken:
            said = str(broken) or type(broken).__name__
            raise OSError(f"the model's server failed: {said[:200]}") from broken
        except (ValueError, RecursionError) as garbled:
            raise OSError(f"the model's server is not understood: {garbled}"[:200]) from garbled

    async def close(self) -> None:
        await self._client.close()


class OpenAICompatibleModel:
    """Implements `LanguageModel`; one for all calls of an agent."""

    def __init__(self, settings: OpenAIModelSettings, api_key: str = "") -> None:
        self._settings = settings
        self._servers = [_Server(url, api_key, settings) for url in settings.urls]
        self._replicas = Replicas(len(settings.urls))
        self._rules = PromptRules(settings.notes_as, settings.strict_turns)
        self._numbers = itertools.count(1)

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Return the reply as it comes; closing the iterator stops the generation."""
        return self._stream(request, 0)

    def elsewhere(self) -> Elsewhere:
        """Return the same model, asked at another server than the call's own where there is one."""
        return Elsewhere(self)

    async def close(self) -> None:
        """Close every connection."""
        for server in self._servers:
            await server.close()

    async def _stream(self, request: ModelRequest, skip: int) -> AsyncGenerator[ModelEvent, None]:
        question = self._question(request)
        call, prefix = request.call_id, request.instructions
        now = asyncio.get_running_loop().time
        places = self._replicas.order(call, prefix, now())
        skip %= len(places)
        failure: OSError | None = None
        for place in places[skip:] + places[:skip]:
            begun = False
            self._replicas.begin(place)
            try:
                async with aclosing(self._events(place, question)) as events:
                    async for event in events:
                        if not begun:
                            self._replicas.answered(place, call, prefix)
                        begun = True
                        yield event
                return
            except OSError as broken:
                refused = broken if isinstance(broken, Refused) else None
                rest = (refused and refused.retry_after) or self._settings.rest_seconds
                self._replicas.failed(place, now(), rest)
                log.info("model_failed", url=self._servers[place].url, reason=str(broken))
                if begun or (refused and refused.status in OURS):
                    raise
                failure = broken
            finally:
                self._replicas.end(place)
        assert failure is not None
        raise failure

    async def _events(self, place: int, question: _Question) -> AsyncGenerator[ModelEvent, None]:
        reader = ReplyReader(question.id)
        async with aclosing(self._servers[place].chunks(question)) as chunks:
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    yield event
        for event in reader.end():
            yield event

    def _question(self, request: ModelRequest) -> _Question:
        """Write a request; what a server does not know is not sent to it."""
        settings = self._settings
        number = next(self._numbers)
        request_id = f"{request.call_id}-{number}"
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": messages(request, self._rules),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = tools(request.tools)
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        extra: dict[str, Any] = dict(settings.extra)
        # Older servers know the first name only, OpenAI's newer models the second one only.
        limit = "max_completion_tokens" if settings.server == "openai" else "max_tokens"
        body[limit] = settings.max_tokens
        if settings.thinking == "off":
            extra.setdefault("chat_template_kwargs", {"enable_thinking": False})
        match settings.server:
            case "openai":
                body["prompt_cache_key"] = request.call_id
            case "vllm":
                extra |= {"request_id": request_id, "session_id": request.call_id}
            case "sglang":
                extra["rid"] = request_id
            case "other":
                pass
        if settings.priorities and settings.server in PRIORITIES:
            extra["priority"] = PRIORITIES[settings.server][request.priority]
        return _Question(request_id, body, extra, traceparent(request.call_id))


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The same model, second server first; for a request that runs beside another one."""

    model: OpenAICompatibleModel

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Return the reply as it comes."""
        return self.model._stream(request, 1)

    def elsewhere(self) -> Elsewhere:
        """Return the model itself: it is asked beside the first one already."""
        return self


def _refused(answer: openai.APIStatusError) -> Refused:
    """Name a refusal; the server's words are cut short, since they may quote the prompt."""
    body: Json = answer.body if isinstance(answer.body, dict) else {}
    reason = str(body.get("message") or body.get("code") or "")[:120]
    try:
        after = float(answer.response.headers.get("retry-after", ""))
    except ValueError:
        after = None
    return Refused(answer.status_code, reason, after)
