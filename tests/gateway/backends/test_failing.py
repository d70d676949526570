"""A model's server fails in the middle of a call; the caller never waits in silence for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.backends.realtime.backend import realtime_backend
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.call.settings import ConversationSettings
from gateway.events import AgentBeganSounding
from gateway.ports import Backend
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import ClauseTones, LevelRecogniser, Sentences
from tests.support.realtime_server import Answer, FakeRealtime


@asynccontextmanager
async def call(
    first: list[Answer],
    spare: list[Answer],
    fallbacks: tuple[str, ...] = ("spare",),
    connect_seconds: float = 5.0,
) -> AsyncIterator[tuple[Caller, FakeRealtime, FakeRealtime]]:
    """Hold a call with one model and another to fall back to."""
    async with (
        FakeRealtime(first, ["hello there"]).serving() as one,
        FakeRealtime(spare, ["hello there"]).serving() as two,
    ):

        def backends(name: str) -> Backend:
            url = two.url if name == "spare" else one.url
            settings = RealtimeSettings(url=url, name=name or "first")
            return realtime_backend(settings)

        sentences = Sentences()
        caller = Caller(
            Parts(LevelRecogniser(sentences), None, ClauseTones()),  # type: ignore[arg-type]
            sentences,
            ConversationSettings(fallbacks=fallbacks, drafts=False),
            backends=backends,
        )
        async with caller.holding():
            yield caller, one, two
        await asyncio.sleep(1)


def kinds(caller: Caller) -> list[str]:
    """Name what the caller heard or began to hear, in order."""
    speech = caller.call.conversation.state.speech
    heard = caller.happened(AgentBeganSounding)
    return [one.kind for _, e in heard if (one := speech.get(e.utterance)) is not None]


async def test_a_server_killed_in_the_middle_of_an_utterance_costs_two_seconds_at_most():
    killed = 0.0
    long = Answer("one two three four five six seven eight", 8000, delay=0.1)
    async with call([long], [Answer("and nine ten", 1000)]) as (caller, one, two):
        await caller.hears()
        await caller.says("hello there", draft=None)
        await caller.sound()
        await asyncio.sleep(1.0)
        killed = caller.now()
        await one.drop()
        await asyncio.sleep(4.0)
    began = [(when, e) for when, e in caller.happened(AgentBeganSounding) if when > killed]
    assert began[0][0] - killed < 2.0
    assert kinds(caller) == ["greeting", "reply", "filler", "reply"]
    items = [event["item"] for event in two.seen.of("conversation.item.create")]
    said = [(i["role"], i["content"][0]["text"]) for i in items]
    assert ("user", "hello there") in said
    (agent,) = [text for role, text in said if role == "assistant" and "one" in text]
    assert "eight" not in agent, "only what was heard is history"
    (cut,) = [line for line in caller.log.of("interrupted") if line["kind"] == "reply"]
    assert cut["heard"] == pytest.approx(1.0, abs=0.2)


async def test_a_turn_that_nobody_answered_is_heard_by_the_fallback():
    # The transcript never comes: the connection is cut as soon as the turn is over.
    async with call([Answer("x", fails="")], [Answer("good day", 600)]) as (caller, one, two):
        await caller.hears()
        await caller.says("hello there", seconds=2.0, draft=None)
        await one.drop()
        await caller.hears()
    sound = len(two.seen.sound) / 8000
    words = two.seen.of("conversation.item.create")
    told = any(
        part.get("text") == "hello there" for e in words for part in e["item"].get("content", [])
    )
    assert told or sound > 1.9


async def test_a_model_that_fails_twice_is_replaced():
    async with call([Answer(fails="server_error")], [Answer("good day", 600)]) as (
        caller,
        _one,
        two,
    ):
        await caller.hears()
        for _ in range(2):
            await caller.says("hello there", draft=None)
            await caller.hears()
        await asyncio.sleep(3)
    assert "reply" in kinds(caller)
    assert two.seen.of("response.create")


async def test_a_model_that_answers_nothing_is_bridged_and_then_given_up():
    async def mute(event: dict[str, Any], group: asyncio.TaskGroup) -> None:
        """Take events and say nothing."""

    longest = 0.0
    async with call([Answer("x")], [Answer("good day", 600)]) as (caller, one, _two):
        await caller.hears()
        one.sessions[0]._handle = mute  # type: ignore[method-assign]
        await caller.says("hello there", draft=None)
        begun = caller.now()
        last = begun - 0.5
        while caller.now() < begun + 6:
            await asyncio.sleep(0.02)
            if caller.now() <= caller.leg.sounding_until:
                longest = max(longest, caller.now() - last)
                last = caller.now()
        longest = max(longest, caller.now() - last)
    assert longest < 2.05
    assert kinds(caller)[1] == "filler"


async def test_a_refused_connection_is_gone_around_before_anybody_speaks():
    async with call([Answer("x")], [Answer("good day", 600)]) as (caller, one, _two):
        await asyncio.sleep(0.2)
        await one.drop()
        await caller.hears()
        await caller.says("hello there", draft=None)
        said = caller.now()
        await caller.hears(20.0)
        first = [when for when, _ in caller.happened(AgentBeganSounding) if when > said]
        assert first[0] - said < 2.0
    assert kinds(caller) == ["greeting", "reply"]


async def test_without_any_fallback_the_caller_is_told_and_let_go():
    async with call([Answer("x")], [Answer("y")], fallbacks=()) as (caller, one, _two):
        await caller.hears()
        await one.drop()
        await caller.hears()
        await asyncio.sleep(60)
    (ended,) = caller.log.of("call_ended")
    assert ended["reason"] == "backend lost"
    assert kinds(caller) == ["greeting", "line", "goodbye"]
