"""GPT-Live against a server that no one here wrote: `aimock`, by CopilotKit.

It replays a session that the test has written down. What we send has to be that, byte for byte: at
the first difference it says so and hangs up. It knows one model, `gpt-live-1`, and one form of
sound, 24 kHz samples, which is what a call from a web page has; a telephone's G.711 is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.backends.live.backend import live_backend
from gateway.backends.live.session import ALONE
from gateway.backends.live.settings import LiveSettings
from gateway.backends.session import SessionBackend
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendLost,
    BackendReady,
    BackendTurn,
    CallerWords,
    CancelReply,
    ReplyEnded,
    ReplyText,
    ToolAsked,
    Truncate,
    UsageReported,
    UtteranceEnded,
)
from media.frame import AudioFrame
from tests.support import aimock
from tests.support.cascade_call import Caller, Parts
from tests.support.cascade_parts import ClauseTones, LevelRecogniser, Sentences
from tests.support.live_transcript import LiveTranscript
from tests.support.model_server import Bench
from tests.support.realtime_tap import RealtimeTap

pytestmark = aimock.NEEDS_AIMOCK

PATH = "/v1/live/sessions"
RATE = 24000
FRAME = RATE // 50

SESSION: dict[str, Any] = {
    "model": "gpt-live-1",
    "instructions": "Be kind.",
    "audio": {"format": {"type": "audio/pcm", "rate": 24000}, "output": {"voice": "marin"}},
    "delegation": {
        "type": "responses",
        "responses": {
            "model": "gpt-5.4-mini",
            "instructions": "Be kind.",
            "tools": [
                {
                    "type": "function",
                    "name": "lookup",
                    "description": "Look up.",
                    "parameters": {"type": "object", "properties": {}},
                }
            ],
        },
    },
}
"""What a session of the bench's agent is to begin with."""

ALONE_SESSION = {**SESSION, "delegation": {"type": "client"}}

GREETING, ANSWER, LATE, LAST = (bytes([number, 0]) * (RATE // 10) for number in range(1, 5))


def frame(number: int) -> AudioFrame:
    return AudioFrame(bytes([number, number >> 4]) * FRAME, RATE, number * FRAME)


def speak(bench: Bench, first: int, end: int) -> None:
    """Say frames of the caller's sound, as fast as they go."""
    for number in range(first, end):
        bench.backend.hear(frame(number))


def spoken(first: int, end: int) -> bytes:
    return b"".join(frame(number).pcm for number in range(first, end))


def backend(url: str, **settings: Any) -> SessionBackend:
    wanted = {"model": "gpt-live-1", **settings}
    return live_backend(LiveSettings(url=url + PATH, api_key="sk-secret", **wanted))


async def hold(bench: Bench, story: Callable[[Bench], Awaitable[None]]) -> None:
    """Hold a call: after the story the caller hangs up."""
    bench.number_turns()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(bench.run())
        async with asyncio.timeout(10):
            await story(bench)
        task.cancel()


def appointment() -> dict[str, Any]:
    """Write a call down: greeting, a question, a tool, a cut-in, and the end of it all."""
    wanted = LiveTranscript(SESSION)
    wanted.says("Good day.", GREETING)
    wanted.hears(spoken(0, 36))
    wanted.understands("Is there ")
    wanted.understands("a free slot?")
    delegation = {"id": "delegation", "type": "delegation", "target": "responses"}
    wanted.server("session.delegation.created", delegation=delegation, offset_ms=0)
    item = {"type": "function_call", "id": "item", "call_id": "call", "name": "lookup"}
    for kind, arguments in (("added", ""), ("done", '{"day": "Monday"}')):
        nested = {"type": f"response.output_item.{kind}", "item": {**item, "arguments": arguments}}
        wanted.server("response.event", event=nested, delegation_id="delegation")
    output = {"type": "function_call_output", "call_id": "call", "output": '{"free":["nine"]}'}
    wanted.client("response.item.create", item=output)
    wanted.client("response.create")
    wanted.says("Yes, at nine.", ANSWER)
    heard = 'The caller cut in. Of your last words they heard only: "Yes,".'
    wanted.client("session.thinking.append", content=heard, delegation_id=None)
    wanted.server("session.thinking.appended", start_ms=0, end_ms=100)
    wanted.says(" Shall I book it?", LATE)
    wanted.server("session.usage.updated", usage={"seconds": 61})
    wanted.hears(spoken(36, 52))
    wanted.says("Then not.", LAST)
    wanted.hears(spoken(52, 60))
    return wanted.closed("remote_hangup", 62)


@pytest.mark.real_time
async def test_a_session_is_taken_and_held_to_its_end(tmp_path: Path):
    async def story(bench: Bench) -> None:
        await bench.until(AgentAudio)
        speak(bench, 0, 36)
        asked = await bench.until(ToolAsked)
        assert (asked.reply, asked.name, asked.arguments) == (2, "lookup", {"day": "Monday"})
        bench.backend.perform(AnswerTool(2, asked.ask, "lookup", {"free": ["nine"]}, True, 21))
        await bench.until(AgentAudio, 2)
        bench.backend.perform(CancelReply(2))
        bench.backend.perform(Truncate(21, 0.1, "Yes,"))
        await bench.until(UsageReported)
        speak(bench, 36, 52)
        await bench.until(AgentAudio, 3)
        speak(bench, 52, 60)
        await bench.until(BackendLost)

    async with aimock.serving(tmp_path, [appointment()]) as port:
        bench = Bench(backend(f"ws://127.0.0.1:{port}"), "l16", RATE)
        await hold(bench, story)
        bench, journal = bench, await aimock.journal(port)
    (taken,) = journal
    assert (taken["path"], taken["response"]["status"]) == (PATH, 200)
    assert taken["body"]["session"] == SESSION
    assert [(e.utterance, e.pcm) for e in bench.of(AgentAudio)] == [
        (10, GREETING),
        (21, ANSWER),
        (30, LAST),
    ]
    said = [(e.reply, e.text) for e in bench.of(ReplyText)]
    assert said == [(1, "Good day."), (2, "Yes, at nine."), (3, "Then not.")]
    assert bench.of(CallerWords) == [CallerWords(2, "Is there a free slot?", final=True)]
    assert bench.of(UtteranceEnded) == [UtteranceEnded(1, 10, "Good day.")]
    assert bench.of(ReplyEnded) == [ReplyEnded(1)]
    assert BackendTurn("speech_started") in bench.events
    assert [e.figures["seconds"] for e in bench.of(UsageReported)] == [61, 62]
    assert bench.of(BackendLost) == [BackendLost("the session was closed: remote_hangup")]


@pytest.mark.real_time
async def test_work_that_nobody_does_is_declined_and_the_session_closed(tmp_path: Path):
    wanted = LiveTranscript(ALONE_SESSION)
    wanted.hears(spoken(0, 10))
    delegation = {"id": "delegation", "type": "delegation", "target": "client"}
    wanted.server("session.delegation.created", delegation=delegation, offset_ms=0)
    wanted.client("session.commentary.append", content=ALONE, delegation_id="delegation")
    wanted.says("I cannot look that up.", ANSWER)
    wanted.client("session.close")
    fixture = wanted.closed("close_requested", 1)

    async def story(bench: Bench) -> None:
        await bench.until(BackendReady)
        speak(bench, 0, 10)
        await bench.until(AgentAudio)

    async with aimock.serving(tmp_path, [fixture]) as port:
        async with RealtimeTap(f"ws://127.0.0.1:{port}").serving() as tap:
            bench = Bench(backend(tap.url, delegation="client"), "l16", RATE)
            await hold(bench, story)
        bench, tap = bench, tap
    assert not bench.of(BackendLost)
    ours = [event["type"] for side, event in tap.events if side == "ours"]
    assert ours[-2:] == ["session.commentary.append", "session.close"]
    assert not tap.of("theirs", "aimock.error"), "all that we sent is what was written down"


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("settings", "codec", "why"),
    [
        ({"model": "gpt-live-9"}, "l16", "gpt-live-9: Invalid Live client command"),
        ({}, "pcmu", "gpt-live-1: Invalid Live client command"),
        ({"voice": "cedar"}, "l16", "gpt-live-1: client input does not match live fixture"),
    ],
    ids=["unknown model", "a telephone's sound", "not as written down"],
)
async def test_a_start_that_is_not_taken_is_a_loss_that_says_why(
    settings: dict[str, Any], codec: str, why: str, tmp_path: Path
):
    async def story(bench: Bench) -> None:
        async with asyncio.timeout(4):  # less than a session is waited for
            await bench.until(BackendLost)

    async with aimock.serving(tmp_path, [appointment()]) as port:
        bench = Bench(backend(f"ws://127.0.0.1:{port}", **settings), codec, RATE)
        await hold(bench, story)
        bench = bench
    assert bench.events == [BackendLost(f"the server refused a session of {why}")]


@pytest.mark.real_time
async def test_a_caller_whose_model_is_not_taken_is_told_and_let_go(tmp_path: Path):
    async def story(caller: Caller) -> None:
        await asyncio.sleep(10)

    async with aimock.serving(tmp_path, [appointment()]) as port:
        sentences = Sentences()
        caller = Caller(
            Parts(LevelRecogniser(sentences), None, ClauseTones()),  # type: ignore[arg-type]
            sentences,
            ConversationSettings(lines=FixedLines("Hello.", apology="Sorry.", goodbye="Bye.")),
            backends=lambda name: backend(f"ws://127.0.0.1:{port}", model="gpt-live-9"),
        )
        await caller.run(story)
        caller = caller
    (fault,) = caller.log.of("fault")
    assert fault["reason"] == (
        "the server refused a session of gpt-live-9: Invalid Live client command"
    )
    assert [line["text"] for line in caller.log.of("agent_spoke")] == ["Hello.", "Sorry.", "Bye."]
    (ended,) = caller.log.of("call_ended")
    assert ended["reason"] == "backend lost"
    assert ended["seconds"] < 3.0
