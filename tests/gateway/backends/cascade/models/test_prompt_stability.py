"""Each prompt of a call is the one before it plus an end: what servers keep of it stays true."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pytest

from gateway.backends.cascade.models.openai_compatible import OpenAICompatibleModel
from gateway.backends.cascade.models.prompt import CUT
from gateway.backends.cascade.models.settings import OpenAIModelSettings
from gateway.call.settings import ConversationSettings
from gateway.plumbing.virtual_time import run
from gateway.ports import ToolSpec
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import ClauseTones, LevelRecogniser, Sentences
from tests.support.chat_server import FakeChat, Say, unanswered

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
LOOKUP = ToolSpec("lookup", "Look up.", SCHEMA, "read")
NOTED = ToolSpec("note_down", "Note down.", SCHEMA, "write")
SETTINGS = ConversationSettings(instructions="You are kind and brief.", tools=(LOOKUP, NOTED))

LONG = Say("Well, that is a long story, and I will tell you all of it from the start.", gap=0.03)
PLAIN = Say("Certainly, I can do that for you.", gap=0.03)
PREFACE = "Let me look at all of our calendars for you, right now."
TOOL = [Say(PREFACE, [("lookup", {"q": "a"})]), PLAIN]
TWO = [Say("", [("lookup", {"q": "b"}), ("note_down", {"q": "c"})]), PLAIN]


@lru_cache
def held(strict: bool = False) -> FakeChat:
    """Hold a call of 20 turns; give the server that answered it."""
    server = FakeChat([PLAIN], "vllm")

    async def story(caller: Caller) -> None:
        await caller.hears()
        for turn in range(20):
            kind = turn % 5
            server.answers = [list(TOOL), [LONG], list(TWO), [PLAIN], [PLAIN]][kind] + [PLAIN]
            if kind == 2:
                await caller.says(f"Turn {turn}", draft=None)
            elif kind == 3:
                await caller.hesitates(f"Turn {turn}")
            else:
                await caller.says(f"Turn {turn}", claims=turn > 0 and kind == 2)
            if kind == 1 or turn == 10:  # cut into the answer, and go on with the next turn
                await caller.sound()
                await asyncio.sleep(1.1)
                server.answers = [PLAIN]
                await caller.says(f"No, wait {turn}", claims=True)
            await caller.hears()

    async def main() -> None:
        async with server.serving():
            chosen = OpenAIModelSettings(
                "openai", "m", (server.url,), server="vllm", strict_turns=strict
            )
            model = OpenAICompatibleModel(chosen)
            sentences = Sentences()
            parts = Parts(LevelRecogniser(sentences), model, ClauseTones())
            caller = Caller(parts, sentences, SETTINGS, note="About this call: it is Tuesday.")
            await caller.run(story)
            await model.close()
            await asyncio.sleep(0.1)
            assert not caller.log.of("fault")
            assert len(caller.log.of("interrupted")) >= 4
            assert {line["outcome"] for line in caller.log.of("draft")} >= {"used", "dropped"}
            assert caller.log.of("call_ended")[0]["turns"] >= 20

    run(main())
    return server


def shared(one: list[Any], other: list[Any]) -> int:
    """Count the messages that two prompts have in common from the first one on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def is_cut(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Say whether an answer of the agent is what a cut-in left of it."""
    said, left = before["content"], after["content"]
    return (
        before["role"] == after["role"] == "assistant"
        and left.endswith(CUT)
        and said.startswith(left.removesuffix(CUT))
    )


def test_a_prompt_is_the_previous_one_plus_an_end_but_for_what_a_cut_in_removed():
    server = held()
    done = [asked for asked in server.asked if asked.fate == "done"]
    assert len(done) >= 28
    heads = {json.dumps([asked.body["tools"], asked.body["messages"][:2]]) for asked in done}
    assert len(heads) == 1
    cuts = 0
    for previous, asked in pairwise(done):
        before, now = previous.body["messages"], asked.body["messages"]
        assert not unanswered(now)
        at = shared(before, now)
        if at < len(before):
            assert is_cut(before[at], now[at])
            before = [*before[:at], now[at], *before[at + 1 :]]
            cuts += 1
        assert now[: len(before)] == before
        assert len(now) > len(before)
    assert cuts == 1, "the one answer that was asked about while it sounded, and cut"


def test_most_of_each_prompt_was_cached():
    server = held()
    done = [asked for asked in server.asked if asked.fate == "done"]
    texts = [json.dumps([asked.body["tools"], asked.body["messages"]]) for asked in done]
    fresh = 0
    for at, text in enumerate(texts[1:], start=1):
        best = max(texts[:at], key=lambda known: len(_common(known, text)))
        fresh += len(text) - len(_common(best, text))
    assert fresh < 0.12 * sum(map(len, texts[1:]))


def _common(one: str, other: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return one[:at] if at is not None else min(one, other, key=len)


def test_a_strict_template_gets_turns_that_alternate():
    server = held(strict=True)
    for asked in server.asked:
        messages = asked.body["messages"]
        assert [message["role"] for message in messages[:2]] == ["system", "user"]
        roles = [m["role"] for m in messages[1:] if m["role"] != "tool"]
        tools = {n for n, m in enumerate(messages) if m["role"] == "tool"}
        for n in range(2, len(messages)):
            if messages[n]["role"] == messages[n - 1]["role"]:
                assert n in tools
        assert roles


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("ERROR")
