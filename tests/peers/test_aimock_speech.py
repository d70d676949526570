"""Our sessions against a server that no one here wrote: `aimock`, by CopilotKit (12 MB by npm).

It answers Realtime and Gemini Live turns in text and with tools; it makes no sound, hears no turns
and truncates nothing. GPT-Live has a file of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.backends.gemini.backend import gemini_backend
from gateway.backends.gemini.settings import GeminiSettings
from gateway.backends.realtime.backend import realtime_backend
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.backends.session import SessionBackend
from gateway.events import AnswerTool, BackendLost, BackendReady, ReplyEnded, Respond, ToolAsked
from tests.support import aimock
from tests.support.model_server import Bench

pytestmark = aimock.NEEDS_AIMOCK

GEMINI = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

FIXTURES = [
    {"match": {"userMessage": "hours"}, "response": {"content": "We open at nine."}},
    {
        "match": {"userMessage": "weather", "hasToolResult": False},
        "response": {"toolCalls": [{"name": "lookup", "arguments": '{"city": "Ulm"}'}]},
    },
    {
        "match": {"userMessage": "weather", "hasToolResult": True},
        "response": {"content": "It is sunny."},
    },
]


@asynccontextmanager
async def held(folder: Path, make: Callable[[str], SessionBackend]) -> AsyncIterator[Bench]:
    """Hold a call with a model on that server."""
    async with aimock.serving(folder, FIXTURES) as port:
        bench = Bench(make(f"ws://127.0.0.1:{port}"))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(bench.run())
            async with asyncio.timeout(20):
                await bench.until(BackendReady)
                yield bench
            task.cancel()


def realtime(url: str) -> SessionBackend:
    return realtime_backend(RealtimeSettings(url=f"{url}/v1/realtime", api_key="k"))


def gemini(url: str) -> SessionBackend:
    return gemini_backend(GeminiSettings(url=f"{url}{GEMINI}", api_key="k"))


@pytest.mark.parametrize("make", [realtime, gemini])
async def test_turns_in_text_and_with_a_tool(make: Callable[[str], SessionBackend], tmp_path: Path):
    async with held(tmp_path, make) as bench:
        bench.backend.perform(Respond(1, 1, 1, 0, 0, text="What are your hours?"))
        await bench.until(ReplyEnded)
        bench.backend.perform(Respond(2, 2, 2, 0, 0, text="And the weather?"))
        asked = await bench.until(ToolAsked)
        assert (asked.reply, asked.name, dict(asked.arguments)) == (2, "lookup", {"city": "Ulm"})
        bench.backend.perform(AnswerTool(2, asked.ask, "lookup", {"sky": "blue"}, True, 3))
        await bench.until(ReplyEnded, 2)
    assert not bench.of(BackendLost)
