"""A Realtime model that stumbles, over a telephone: what the caller hears, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.backends.realtime.backend import realtime_backend
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.ports import Backend, ToolSpec
from tests.support.phone_call import PhoneCall, phone_call
from tests.support.realtime_server import Answer, FakeRealtime

FIRST, SPARE = 0x20, 0x28
FILLER = "One moment, please."
GOOD = Answer("we open at nine", 1000)


@asynccontextmanager
async def held(
    first: list[Answer], spare: list[Answer] | None = None, **settings: object
) -> AsyncIterator[tuple[PhoneCall, FakeRealtime, FakeRealtime]]:
    """Hold a call with one model and another to fall back to."""
    async with (
        FakeRealtime(first, ["when do you open"]).serving() as one,
        FakeRealtime(spare or [GOOD], ["when do you open"]).serving() as two,
    ):
        one.byte, two.byte = FIRST, SPARE

        def backends(name: str) -> Backend:
            url = two.url if name == "spare" else one.url
            return realtime_backend(RealtimeSettings(url=url, name=name or "first"))

        voices = {FIRST: "first", SPARE: "spare"}
        wanted = {"fallbacks": ("spare",), **settings}
        async with phone_call(backends, voices, **wanted) as caller:
            yield caller, one, two


HANGING = {
    "no response.created": Answer("x", hangs="before"),
    "nothing after it": Answer("x", hangs="after"),
    "nothing, and no cancel is obeyed": Answer("x", hangs="after", deaf=60),
    "an answer without sound": Answer("x", mute=True),
    "a server error without an id": Answer("x y", 400, error="overloaded"),
}


@pytest.mark.parametrize("answer", HANGING.values(), ids=HANGING)
async def test_a_model_that_hangs_is_asked_once_more_and_then_replaced_within_six_seconds(answer):
    async with held([answer]) as (caller, one, two):
        await caller.says()
        await asyncio.sleep(9)
        assert caller.longest_silence("spare") < 2.0
        assert caller.waited_for("spare") < 6.0
        assert caller.said()[-1] == "spare"
        assert len(one.seen.of("response.create")) >= 2
        told = [event["item"] for event in two.seen.of("conversation.item.create")]
        assert ("user", "when do you open") in [
            (item["role"], item["content"][0]["text"]) for item in told
        ]
        assert len(caller.faults()) == 2
        assert all(fault.startswith("model: ") for fault in caller.faults())


@pytest.mark.parametrize("answer", HANGING.values(), ids=HANGING)
async def test_a_model_that_hangs_once_answers_when_it_is_asked_again(answer):
    async with held([answer, GOOD]) as (caller, _one, two):
        await caller.says()
        await asyncio.sleep(9)
        who = "spare" if answer.deaf else "first"
        assert caller.longest_silence(who) < 2.0
        assert caller.said()[-1] == who
        assert len(caller.faults()) == (2 if answer.deaf else 1)
        assert bool(two.seen.connections) is bool(answer.deaf)


async def test_a_stall_in_the_middle_is_bridged_and_the_sentence_goes_on():
    answer = Answer("one two three four five six", 1200, stall=2.6)
    async with held([answer]) as (caller, one, _two):
        await caller.says()
        await asyncio.sleep(7)
        assert caller.said() == ["first", FILLER, "first"]
        assert caller.longest_silence(FILLER) < 2.0
        assert sum(end - begin for what, begin, end in caller.heard() if what == "first") > 1.15
        assert not caller.faults()
        assert not one.seen.of("response.cancel")
        spoken = [entry.text for entry in caller.history() if entry.role == "agent"]
        assert " ".join(" ".join(spoken).split()) == "one two three four five six"


async def test_a_model_that_stops_for_good_in_the_middle_is_asked_again():
    async with held([Answer("one two three", 800, hangs="middle"), GOOD]) as (caller, _one, _two):
        await caller.says()
        await asyncio.sleep(8)
        assert caller.said() == ["first", FILLER, "first"]
        assert caller.faults() == ["model: stopped in the middle of its answer"]


async def test_an_answer_that_was_said_and_never_ends_is_over():
    async with held([Answer("one two three", 3000, hangs="end"), GOOD]) as (caller, one, _two):
        await caller.says()
        await asyncio.sleep(9)
        assert caller.said()[0] == "first"
        assert caller.faults() == ["model: its answer did not end"]
        before = caller.now()
        await caller.says()
        await asyncio.sleep(3)
        assert caller.said(before) == ["first"]
        assert one.seen.of("response.cancel")


async def test_a_connection_lost_while_the_caller_speaks_costs_no_word_of_theirs():
    async with held([GOOD]) as (caller, one, two):
        caller.telephone.said = bytes([0x10, 0x90] * 80)
        await asyncio.sleep(1.0)
        await one.drop()
        await caller.says(1.0)
        await asyncio.sleep(4)
        assert caller.said()[-1] == "spare"
        assert caller.longest_silence("spare") < 2.0
        assert len(two.seen.sound) / 8000 > 1.9


async def test_a_connection_lost_over_a_tool_is_bridged_and_taken_up():
    lookup = ToolSpec("lookup", "Look up.", {"type": "object"})
    async with held([Answer(tool=("lookup", {}))], tools=(lookup,)) as (caller, one, two):
        caller.tools.seconds = 3.0
        await caller.says()
        await asyncio.sleep(1.0)
        await one.drop()
        await asyncio.sleep(7)
        assert caller.longest_silence("spare") < 2.0
        assert caller.said()[-1] == "spare"
        assert two.seen.of("response.create")


async def test_what_was_taken_for_a_nod_is_part_of_what_follows_within_a_second():
    async with held([Answer("one two three four five six", 6000), GOOD]) as (caller, one, _two):
        await caller.says()
        await asyncio.sleep(1.5)
        before = caller.now()
        await caller.says(0.3)
        await asyncio.sleep(0.6)
        assert "first" in caller.said(before), "it is not interrupted by that"
        await caller.says(2.0)
        await asyncio.sleep(3)
        assert one.seen.commits[-1] / 8000 > 0.3 + 0.6 + 2.0
        assert not caller.faults()


async def test_a_nod_that_nothing_follows_is_part_of_nothing():
    async with held([Answer("one two three four five six", 6000), GOOD]) as (caller, one, _two):
        await caller.says()
        await asyncio.sleep(1.5)
        await caller.says(0.3)
        await asyncio.sleep(1.8)
        await caller.says(1.5)
        await asyncio.sleep(3)
        assert one.seen.commits[-1] / 8000 < 0.3 + 1.8 + 1.5


async def test_one_refused_since_another_is_active_is_asked_for_again():
    slow = Answer("one two three four five six", 12000, delay=0.1, deaf=5.4)
    async with held([slow, GOOD]) as (caller, one, _two):
        await caller.says()
        await asyncio.sleep(1.5)
        await caller.says(1.2)
        await asyncio.sleep(4)
        assert caller.said(caller.fell_silent)[-1] == "first"
        assert "one is active" in one.seen.errors
        assert not caller.faults()
