from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from openai.types.live import ClientEvent, ServerEvent
from pydantic import TypeAdapter

from gateway.backends.live.backend import live_backend
from gateway.backends.live.settings import LiveSettings
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendLost,
    BackendReady,
    BackendTurn,
    CallerWords,
    CancelReply,
    Entry,
    Inform,
    ReplyEnded,
    ReplyText,
    Respond,
    ToolAsked,
    Truncate,
    UsageReported,
    UtteranceEnded,
)
from media.frame import AudioFrame
from tests.support.model_server import Bench, ModelServer, Wire, play

CLIENT: TypeAdapter[Any] = TypeAdapter(ClientEvent)
SERVER: TypeAdapter[Any] = TypeAdapter(ServerEvent)


def frame(number: int, codec: str = "pcmu") -> AudioFrame:
    return AudioFrame(bytes(320), 8000, number * 160, bytes([number & 0x7F]) * 160, codec)


def sound(seconds: float, byte: int = 0x31) -> dict[str, Any]:
    delta = base64.b64encode(bytes([byte]) * int(8000 * seconds)).decode()
    return {"type": "session.output_audio.delta", "delta": delta}


def words(side: str, text: str) -> dict[str, Any]:
    kind = f"session.{side}_transcript.delta"
    return {"type": kind, "event_id": "e", "delta": text, "start_ms": 0, "end_ms": 1}


def called(name: str, ask: str, arguments: dict[str, Any]) -> dict[str, Any]:
    item = {
        "type": "function_call",
        "call_id": ask,
        "name": name,
        "arguments": json.dumps(arguments),
    }
    nested = {"type": "response.output_item.done", "item": item, "output_index": 0}
    return {"type": "response.event", "event_id": "e", "event": nested, "delegation_id": "d1"}


async def start(wire: Wire, message: dict[str, Any]) -> None:
    if message["type"] == "session.start":
        session = {**message["session"], "id": "live_1", "expires_at": 1, "status": "active"}
        await wire.send({"type": "session.started", "event_id": "e", "session": session})


def server(handle: Any = start) -> ModelServer:
    return ModelServer(handle, SERVER.validate_python, CLIENT.validate_python)


def backend(url: str, **settings: Any) -> Any:
    return live_backend(LiveSettings(url=url, api_key="sk-secret", **settings))


async def listen(bench: Bench, frames: int, first: int = 0) -> None:
    for number in range(first, first + frames):
        bench.backend.hear(frame(number))
        await asyncio.sleep(0.02)


async def test_an_answer_begins_after_silence_and_ends_when_no_more_comes():
    live = server()
    async with play(live, backend) as bench:
        bench.number_turns()
        await bench.until(BackendReady)
        (wire,) = live.wires
        await wire.send(words("input", "When do you "))
        await wire.send(words("input", "open?"))
        await listen(bench, 20)
        await wire.send(sound(0.2))
        await wire.send(words("output", "At nine."))
        await wire.send(sound(0.2, 0x32))
        await bench.until(AgentAudio, 2)
        await listen(bench, 34, 20)
        assert not bench.of(ReplyEnded)
        await listen(bench, 3, 54)
        await bench.until(ReplyEnded)
        await wire.send(sound(0.2))
        await bench.until(AgentAudio, 3)
    assert bench.of(CallerWords) == [CallerWords(1, "When do you open?", final=True)]
    assert bench.of(ReplyText) == [ReplyText(1, 10, "At nine.")]
    assert bench.of(UtteranceEnded) == [UtteranceEnded(1, 10, "At nine.")]
    assert [(e.reply, e.utterance) for e in bench.of(AgentAudio)] == [(1, 10), (1, 10), (2, 20)]
    passed = b"".join(e.payload for e in bench.of(AgentAudio)[:2])
    assert passed == b"\x31" * 1600 + b"\x32" * 1600, "G.711 passes as it came"
    heard = [m for m in live.got if m["type"] == "session.input_audio.append"]
    assert b"".join(base64.b64decode(m["audio"]) for m in heard) == b"".join(
        frame(n).payload for n in range(57)
    )


async def test_the_session_is_configured_once_and_for_all():
    live = server()
    async with play(live, backend) as bench:
        await bench.until(BackendReady)
    session = live.got[0]["session"]
    assert session["audio"]["format"] == {"type": "audio/pcmu", "rate": 8000}
    assert session["instructions"] == "Be kind."
    assert session["delegation"]["responses"]["tools"][0]["name"] == "lookup"


async def test_a_cut_in_drops_what_comes_until_the_model_pauses_and_tells_what_was_heard():
    live = server()
    async with play(live, backend) as bench:
        bench.number_turns()
        await bench.until(BackendReady)
        (wire,) = live.wires
        await wire.send(sound(0.2))
        await bench.until(AgentAudio)
        bench.backend.perform(CancelReply(1))
        bench.backend.perform(Truncate(10, 0.1, "We open"))
        await wire.send(sound(0.2, 0x40))
        await wire.send(words("output", " at nine"))
        await listen(bench, 10)
        await wire.send(sound(0.2, 0x41))
        await asyncio.sleep(0.1)
        assert len(bench.of(AgentAudio)) == 1
        await listen(bench, 20, 10)
        await wire.send(sound(0.2, 0x42))
        await bench.until(AgentAudio, 2)
    assert [(e.reply, e.payload[0]) for e in bench.of(AgentAudio)] == [(1, 0x31), (2, 0x42)]
    (told,) = [m for m in live.got if m["type"] == "session.thinking.append"]
    assert '"We open"' in told["content"]
    assert told["delegation_id"] is None


async def test_a_delegated_tool_is_run_here_and_spoken_about():
    live = server()
    async with play(live, backend) as bench:
        bench.number_turns()
        await bench.until(BackendReady)
        (wire,) = live.wires
        await wire.send(words("input", "Is it there?"))
        await wire.send(called("lookup", "c1", {"q": 1}))
        asked = await bench.until(ToolAsked)
        assert asked == ToolAsked(1, "c1", "lookup", {"q": 1})
        await listen(bench, 50)
        assert not bench.of(ReplyEnded), "a tool is awaited"
        bench.backend.perform(AnswerTool(1, "c1", "lookup", {"there": True}, True, 11))
        await asyncio.sleep(0.1)
        await wire.send(sound(0.2))
        await bench.until(AgentAudio)
        await listen(bench, 40, 50)
        await bench.until(ReplyEnded)
    kinds = [e for e in bench.events if isinstance(e, CallerWords | ToolAsked)]
    assert isinstance(kinds[0], CallerWords), "the words come first: a write may need their yes"
    assert [e.utterance for e in bench.of(AgentAudio)] == [11]
    after = [m["type"] for m in live.got if m["type"].startswith("response.")]
    assert after == ["response.item.create", "response.create"]


async def test_work_that_nobody_does_is_declined_in_words():
    live = server()
    async with play(live, lambda url: backend(url, delegation="client")) as bench:
        await bench.until(BackendReady)
        (wire,) = live.wires
        delegation = {"id": "d1", "target": "client", "type": "delegation"}
        created = {"type": "session.delegation.created", "event_id": "e", "offset_ms": 1}
        await wire.send({**created, "delegation": delegation})
        await asyncio.sleep(0.2)
    assert live.got[0]["session"]["delegation"] == {"type": "client"}
    (said,) = [m for m in live.got if m["type"] == "session.commentary.append"]
    assert said["delegation_id"] == "d1"


async def test_typed_words_and_notes_are_appended():
    live = server()
    async with play(live, backend) as bench:
        await bench.until(BackendReady)
        bench.backend.perform(Inform("The caller pressed 5."))
        bench.backend.perform(Respond(1, 1, 7, 0, 0, text="hello"))
        await asyncio.sleep(0.1)
        await live.wires[0].send(sound(0.2))
        audio = await bench.until(AgentAudio)
        assert (audio.reply, audio.utterance) == (1, 7)
    assert not bench.of(BackendTurn)
    kinds = [m["type"] for m in live.got[1:]]
    assert kinds == ["session.thinking.append", "session.instructions.append", "session.close"]


async def test_a_renewed_session_begins_with_the_conversation_and_the_old_one_is_told_goodbye():
    live = server()
    async with play(live, lambda url: backend(url, session_seconds=20.0)) as bench:
        bench.history = (Entry("note", "A call."), Entry("caller", "Hi"), Entry("agent", "Hello"))
        await bench.until(BackendReady, 2)
    kinds = [message["type"] for message in live.got]
    assert kinds == ["session.start", "session.start", "session.close", "session.close"]
    roles = [item["role"] for item in live.got[1]["session"]["input"]]
    assert roles == ["developer", "user", "assistant"]


@pytest.mark.parametrize("code", ["invalid_request_error", "insufficient_quota"])
async def test_a_refused_start_is_a_loss_at_once(code):
    async def refuse(wire: Wire, message: dict[str, Any]) -> None:
        error = {"code": code, "message": "no", "type": "invalid_request_error"}
        await wire.send({"type": "error", "event_id": "e", "error": error})

    async with play(server(refuse), lambda url: backend(url, model="gpt-live-9")) as bench:
        lost = await bench.until(BackendLost)
        assert lost.fatal
        assert lost.reason == "the server refused a session of gpt-live-9: no"


async def test_usage_is_told_by_the_minute_and_at_the_end():
    live = server()
    async with play(live, backend) as bench:
        await bench.until(BackendReady)
        (wire,) = live.wires
        for seconds in (10, 61, 70, 125):
            usage = {"seconds": seconds}
            await wire.send({"type": "session.usage.updated", "event_id": "e", "usage": usage})
        await bench.until(UsageReported, 2)
        await asyncio.sleep(0.1)
        assert [e.figures["seconds"] for e in bench.of(UsageReported)] == [61, 125]
