"""A server that no one here wrote answers as OpenAI does: `aimock`, by CopilotKit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.backends.cascade.models.openai_compatible import OpenAICompatibleModel, Refused
from gateway.backends.cascade.models.settings import OpenAIModelSettings
from gateway.backends.cascade.ports import (
    ModelEvent,
    ModelRequest,
    ModelUsage,
    TextDelta,
    ToolDelta,
)
from gateway.events import Entry
from gateway.ports import ToolSpec
from tests.support import aimock

pytestmark = aimock.NEEDS_AIMOCK

FIXTURES = [
    {
        "match": {"userMessage": "hours"},
        "response": {"content": "We open at nine in the morning, and we close at five."},
    },
    {
        "match": {"userMessage": "weather"},
        "response": {"toolCalls": [{"name": "weather", "arguments": '{"city": "Ulm"}'}]},
    },
    {
        "match": {"userMessage": "busy"},
        "response": {"error": {"message": "try later", "type": "overloaded"}, "status": 503},
    },
]
WEATHER = ToolSpec("weather", "Say the weather.", {"type": "object", "properties": {}})


def request(text: str) -> ModelRequest:
    return ModelRequest("c1", "Be kind.", (Entry("caller", text),), (WEATHER,))


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[OpenAICompatibleModel]:
    """Run the server; give a model that asks it."""
    async with aimock.serving(folder, FIXTURES, "--strict", "-c", "6") as port:
        settings = OpenAIModelSettings("openai", "gpt-4o", (f"http://127.0.0.1:{port}/v1",))
        model = OpenAICompatibleModel(settings, "k")
        try:
            yield model
        finally:
            await model.close()


async def ask(model: OpenAICompatibleModel, text: str) -> list[ModelEvent]:
    return [event async for event in model.stream(request(text))]


@pytest.mark.real_time
async def test_text_tools_usage_and_refusals_of_a_server_by_others(tmp_path: Path):
    async with serving(tmp_path) as model:
        events = await ask(model, "What are your hours?")
        texts = [event.text for event in events if isinstance(event, TextDelta)]
        assert "".join(texts) == "We open at nine in the morning, and we close at five."
        assert len(texts) > 3
        usage = [event for event in events if isinstance(event, ModelUsage)]
        assert usage
        assert usage[-1].figures["completion_tokens"] >= 0
        events = await ask(model, "What is the weather?")
        (asked,) = [event for event in events if isinstance(event, ToolDelta)]
        assert (asked.name, asked.arguments) == ("weather", {"city": "Ulm"})
        with pytest.raises(Refused, match="503"):
            await ask(model, "Are you busy?")
        stream = model.stream(request("What are your hours?"))
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        assert await ask(model, "What are your hours?")
