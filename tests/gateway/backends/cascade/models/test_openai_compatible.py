from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import openai
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
from tests.support.chat_server import FakeChat, Say

LOOKUP = ToolSpec("lookup", "Look up.", {"type": "object", "properties": {}})


def request(call: str = "c1", priority: str = "confirmed", text: str = "Hello?") -> ModelRequest:
    return ModelRequest(
        call,
        "Be kind.",
        (Entry("caller", text),),
        (LOOKUP,),
        priority,  # type: ignore[arg-type]
    )


@asynccontextmanager
async def play(
    *servers: FakeChat,
    **settings: object,
) -> AsyncIterator[tuple[OpenAICompatibleModel, list[FakeChat]]]:
    async with AsyncExitStack() as stack:
        for server in servers:
            await stack.enter_async_context(server.serving())
        chosen = OpenAIModelSettings(
            "openai",
            "m",
            tuple(server.url for server in servers),
            **settings,  # type: ignore[arg-type]
        )
        model = OpenAICompatibleModel(chosen, "sk-secret")
        try:
            yield model, list(servers)
        finally:
            await model.close()
            await asyncio.sleep(0.1)  # the client's own generators are closed by the loop


async def all_of(model: OpenAICompatibleModel, asked: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(asked)]


async def collect(model: OpenAICompatibleModel, into: list[ModelEvent]) -> None:
    async for event in model.stream(request()):
        into.append(event)  # noqa: PERF401 - what came before a failure counts


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_text_comes_token_by_token_and_usage_with_cached_tokens_at_the_end():
    async with play(FakeChat([Say("Good day to you.", first=0.3, gap=0.1)]), server="openai") as (
        model,
        servers,
    ):
        loop = asyncio.get_running_loop()
        begun, times = loop.time(), []
        events = []
        async for event in model.stream(request()):
            events.append(event)
            times.append(round(loop.time() - begun, 3))
        assert text(events) == "Good day to you."
        assert times[:4] == [0.3, 0.4, 0.5, 0.6]
        assert isinstance(events[-1], ModelUsage)
        assert events[-1].figures["cached_tokens"] == 0
        assert events[-1].figures["completion_tokens"] == 4
        again = await all_of(model, request())
        assert isinstance(again[-1], ModelUsage)
        assert again[-1].figures["cached_tokens"] > 20
        assert servers[0].asked[0].headers["authorization"] == "Bearer sk-secret"


async def test_tool_requests_in_interleaved_pieces_become_whole_requests():
    tools = [("lookup", {"q": "tyres", "n": 2}), ("lookup", {"q": "brakes und Öl"})]
    async with play(FakeChat([Say("One moment.", tools)])) as (model, _servers):
        events = await all_of(model, request())
        asks = [event for event in events if isinstance(event, ToolDelta)]
        assert [(ask.name, ask.arguments) for ask in asks] == tools
        assert len({ask.ask for ask in asks}) == 2
        assert text(events) == "One moment."


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
async def test_a_chain_of_thought_is_never_spoken(field: str):
    said = Say("Nine to five.", thinking="The caller wants to know", thinking_field=field)
    async with play(FakeChat([said], "vllm"), server="vllm") as (model, _servers):
        assert text(await all_of(model, request())) == "Nine to five."


async def test_a_chain_of_thought_between_marks_is_not_spoken_either():
    async with play(
        FakeChat([Say("<think> hm, hours. </think> Nine to five."), Say("<thin ice>")])
    ) as (model, _servers):
        assert text(await all_of(model, request())).strip() == "Nine to five."
        assert text(await all_of(model, request())) == "<thin ice>"


async def test_closing_the_iterator_stops_the_generation_at_the_server():
    async with play(FakeChat([Say("a b c d e f g h i j k l m n", gap=0.3)])) as (model, servers):
        stream = model.stream(request())
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        await asyncio.sleep(1)
        (asked,) = servers[0].asked
        assert asked.fate == "aborted"
        assert asked.tokens < 5


async def test_cancelling_before_the_first_token_stops_the_generation_too():
    async with play(FakeChat([Say("never", first=5.0)])) as (model, servers):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await all_of(model, request())
        await asyncio.sleep(1)
        assert [asked.fate for asked in servers[0].asked] == ["aborted"]


@pytest.mark.parametrize(
    ("say", "words"),
    [
        (Say("One two", error_inside="out of memory"), "out of memory"),
        (Say("One two three", cut_after=2), "failed"),
        (Say("One two", finish="error"), "stopped"),
        (Say("One two", garbage=True), "not understood"),
        (Say("One", [("lookup", {})], raw_arguments='{"q": '), "no JSON object"),
        (Say("One", [("lookup", {})], raw_arguments="[1]"), "no JSON object"),
    ],
)
async def test_what_breaks_inside_an_answer_is_an_error_of_the_world(say: Say, words: str):
    async with play(FakeChat([say], "vllm")) as (model, _servers):
        events: list[ModelEvent] = []
        with pytest.raises(OSError, match=words):
            await collect(model, events)
        assert text(events).startswith("One")


async def test_an_unknown_reason_for_the_end_is_an_end():
    async with play(FakeChat([Say("One two", finish="repetition")], "vllm")) as (model, _servers):
        assert text(await all_of(model, request())) == "One two"


async def test_a_silent_server_is_given_up():
    async with play(FakeChat([Say("late", first=60.0)]), silent_seconds=2.0) as (model, _servers):
        with pytest.raises(TimeoutError):
            await all_of(model, request())


async def test_a_server_that_is_not_there_is_an_error_of_the_world():
    model = OpenAICompatibleModel(OpenAIModelSettings("openai", "m", ("http://127.0.0.1:9/v1",)))
    with pytest.raises(OSError, match="failed"):
        await all_of(model, request())
    await model.close()


@pytest.mark.parametrize("status", [429, 503])
async def test_a_refusal_moves_to_another_server_at_once_and_the_first_rests(status: int):
    async with play(FakeChat([Say("Hello.")]), FakeChat([Say("Hello.")])) as (model, servers):
        loop = asyncio.get_running_loop()
        await all_of(model, request())
        home, other = sorted(servers, key=lambda server: -len(server.asked))
        home.answers = [Say(status=status, retry_after="7"), Say("Hello.")]
        begun = loop.time()
        assert text(await all_of(model, request())) == "Hello."
        assert loop.time() - begun < 0.1
        await all_of(model, request("another"))
        assert [asked.fate for asked in home.asked] == ["done", "refused"]
        assert [asked.fate for asked in other.asked] == ["done", "done"]
        await asyncio.sleep(8)
        for call in "abcdefgh":
            await all_of(model, request(call))
        assert len(home.asked) > 2


async def test_a_call_stays_at_one_server():
    async with play(FakeChat([Say("Hello.")]), FakeChat([Say("Hello.")])) as (model, servers):
        for _ in range(6):
            for call in ("a", "b", "c", "d", "e", "f"):
                await all_of(model, request(call, text=f"I am {call}"))
        heard = [{asked.body["messages"][-1]["content"] for asked in s.asked} for s in servers]
        assert not heard[0] & heard[1]
        assert len(heard[0] | heard[1]) == 6


async def test_a_wrong_request_is_not_tried_elsewhere():
    extra = {"extra": {"no_such_field": 1}}
    async with play(FakeChat([Say("x")]), FakeChat([Say("x")]), server="openai", **extra) as (
        model,
        servers,
    ):
        with pytest.raises(Refused, match="400"):
            await all_of(model, request())
        assert sum(len(server.asked) for server in servers) == 1


@pytest.mark.parametrize(("server", "wanted"), [("vllm", [0, 10, 20]), ("sglang", [20, 10, 0])])
async def test_priorities_are_in_each_servers_own_sense(server: str, wanted: list[int]):
    async with play(
        FakeChat([Say("x")], server, scheduling=True),  # type: ignore[arg-type]
        server=server,
        priorities=True,
    ) as (model, servers):
        for priority in ("confirmed", "draft", "background"):
            await all_of(model, request(priority=priority))
        assert [asked.body["priority"] for asked in servers[0].asked] == wanted
        ids = [asked.body.get("request_id") or asked.body["rid"] for asked in servers[0].asked]
        assert ids == ["c1-1", "c1-2", "c1-3"]
        assert [asked.headers["x-request-id"] for asked in servers[0].asked] == ids
        assert all(asked.headers["traceparent"][:3] == "00-" for asked in servers[0].asked)


async def test_without_priority_scheduling_none_is_sent():
    async with play(FakeChat([Say("x")], "vllm"), server="vllm", thinking="off") as (
        model,
        servers,
    ):
        await all_of(model, request(priority="draft"))
        (asked,) = servers[0].asked
        assert "priority" not in asked.body
        assert asked.body["session_id"] == "c1"
        assert asked.body["chat_template_kwargs"] == {"enable_thinking": False}


async def test_the_vendors_own_client_accepts_the_fake():
    async with play(
        FakeChat([Say("One moment.", [("lookup", {"q": 1}), ("lookup", {})])], "vllm")
    ) as (_model, servers):
        client = openai.AsyncOpenAI(base_url=servers[0].url, api_key="k", max_retries=0)
        async with client.chat.completions.stream(
            model="m",
            messages=[{"role": "user", "content": "Hi"}],
            stream_options={"include_usage": True},
        ) as stream:
            final = await stream.get_final_completion()
        await client.close()
        message = final.choices[0].message
        assert message.content == "One moment."
        assert message.tool_calls is not None
        assert [json.loads(c.function.arguments) for c in message.tool_calls] == [{"q": 1}, {}]
        assert final.usage is not None
        assert final.usage.completion_tokens == 2
