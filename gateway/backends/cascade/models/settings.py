"""How a language model behind the chat completions API is reached and asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

Positive = Annotated[float, Meta(gt=0)]

OWN_FIELDS = frozenset(
    {"model", "messages", "tools", "stream", "stream_options", "priority", "n", "tool_choice"}
)
"""What the request is made of; `extra` may not change it."""


@dataclass(frozen=True, slots=True)
class OpenAIModelSettings:
    """One model, at one server or at several that serve the same."""

    kind: str
    model: str
    "the name the servers know it by"
    urls: tuple[str, ...] = ("https://api.openai.com/v1",)
    "base addresses; several are replicas of each other"
    api_key_env: str = ""
    "the environment variable that holds the key; empty: the servers ask for none"
    server: Literal["openai", "vllm", "sglang", "other"] = "other"
    "decides which fields beyond the common ones are sent"
    priorities: bool = False
    """confirmed turns before drafts before background work; only for servers started with priority
    scheduling: vLLM answers an error otherwise"""
    notes_as: Literal["user", "system", "developer"] = "user"
    "in whose name the model is told what nobody said; many chat templates take `system` only first"
    strict_turns: bool = False
    "for chat templates that insist on user and assistant taking turns: joins what is not"
    max_tokens: Annotated[int, Meta(ge=1)] = 300
    "of one answer: two minutes of speech"
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    "empty: the server's own"
    thinking: Literal["as_it_is", "off"] = "as_it_is"
    "`off` asks the chat template for an answer without a chain of thought, which takes time"
    connect_seconds: Positive = 2.0
    silent_seconds: Positive = 10.0
    "the longest silence of a server that has taken a request"
    rest_seconds: Positive = 3.0
    "a server that refused or failed is asked last for so long, unless it names a time itself"
    extra: Mapping[str, Any] = field(default_factory=dict)
    "more fields of the request, as the server knows them"

    def __post_init__(self) -> None:
        if not self.urls:
            raise ValueError("urls is empty")
        if wrong := sorted(OWN_FIELDS & set(self.extra)):
            raise ValueError(f"extra may not hold {', '.join(wrong)}")
