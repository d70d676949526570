from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from gateway.backends.gemini.backend import gemini_backend
from gateway.backends.gemini.settings import GeminiSettings
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendReady,
    BackendTurn,
    CallerWords,
    CancelReply,
    Disregard,
    Entry,
    Listen,
    ReplyEnded,
    ReplyText,
    Respond,
    ToolAsked,
    Truncate,
    UsageReported,
    UtteranceEnded,
)
from gateway.ports import BackendEvent
from media.frame import AudioFrame
from tests.support.model_server import ModelServer, Wire, play

types = pytest.importorskip("google.genai.types")


def check_server(message: dict[str, Any]) -> object:
    return types.LiveServerMessage.model_validate(message)


def check_client(message: dict[str, Any]) -> object:
    assert len(message) == 1, "exactly one top-level key"
    if "setup" in message:
        # The SDK writes this field beside those of its own type, so it is validated beside it too.
        setup = dict(message["setup"])
        types.RealtimeInputConfig.model_validate(setup.pop("realtimeInputConfig"))
        message = {"setup": setup}
    return types.LiveClientMessage.model_validate(message)


def sound(seconds: float) -> dict[str, Any]:
    data = base64.b64encode(b"\x00\x10" * int(24000 * seconds)).decode()
    part = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}}
    return {"serverContent": {"modelTurn": {"parts": [part]}}}


async def speak(wire: Wire, text: str) -> None:
    await wire.send({"serverContent": {"inputTranscription": {"text": "hello"}}})
    await wire.send(sound(0.4))
    await wire.send({"serverContent": {"outputTranscription": {"text": text}}})
    await wire.send(sound(0.4))
    await wire.send({"serverContent": {"generationComplete": True}})
    usage = {"promptTokenCount": 1, "responseTokenCount": 2, "totalTokenCount": 3}
    await wire.send({"serverContent": {"turnComplete": True}, "usageMetadata": usage})


async def handle(wire: Wire, message: dict[str, Any]) -> None:
    if "setup" in message:
        await wire.send({"setupComplete": {}})
    elif "activityEnd" in message.get("realtimeInput", {}):
        await speak(wire, "Good day.")
    elif message.get("clientContent", {}).get("turnComplete"):
        await speak(wire, "Typed.")


def server(handler: Any = handle) -> ModelServer:
    return ModelServer(handler, check_server, check_client)


def backend(url: str, **settings: Any) -> Any:
    return gemini_backend(GeminiSettings(url=url, api_key="key", **settings))


def frame(number: int) -> AudioFrame:
    return AudioFrame(b"\x01\x00" * 160, 8000, number * 160, b"\x10" * 160, "pcmu")


def activity(got: list[dict[str, Any]]) -> list[str]:
    inputs = [m["realtimeInput"] for m in got if "realtimeInput" in m]
    return [key for one in inputs for key in one if key != "audio"]


async def test_a_turn_is_framed_and_answered():
    live = server()
    async with play(live, backend) as bench:
        await bench.until(BackendReady)
        for number in range(50):
            bench.backend.hear(frame(number))
        bench.backend.perform(Listen(30 * 160))
        for number in range(50, 150):
            bench.backend.hear(frame(number))
        bench.backend.perform(Respond(1, 1, 7, 30 * 160, 140 * 160))
        await bench.until(ReplyEnded)
    assert activity(live.got) == ["activityStart", "activityEnd"]
    heard = [m for m in live.got if "audio" in m.get("realtimeInput", {})]
    pcm = b"".join(base64.b64decode(m["realtimeInput"]["audio"]["data"]) for m in heard)
    assert len(pcm) / 2 / 16000 == pytest.approx((150 - 15) * 0.02, abs=0.06)
    assert bench.of(CallerWords) == [CallerWords(1, "hello", final=True)]
    assert bench.of(ReplyText) == [ReplyText(1, 7, "Good day.")]
    assert bench.of(UtteranceEnded) == [UtteranceEnded(1, 7, "Good day.")]
    samples = sum(len(event.pcm) for event in bench.of(AgentAudio)) / 2
    assert samples / 8000 == pytest.approx(0.8, abs=0.05)
    assert bench.of(UsageReported)
    setup = live.got[0]["setup"]
    assert setup["realtimeInputConfig"]["automaticActivityDetection"] == {"disabled": True}


async def test_a_short_sound_that_is_disregarded_never_leaves():
    live = server()
    async with play(live, backend) as bench:
        await bench.until(BackendReady)
        bench.backend.perform(Listen(0))
        for number in range(30):
            bench.backend.hear(frame(number))
        bench.backend.perform(Disregard())
        await asyncio.sleep(1)
    assert activity(live.got) == []
    assert not bench.of(AgentAudio)


async def test_a_long_sound_that_is_disregarded_is_answered_to_nobody():
    live = server()
    async with play(live, backend) as bench:
        await bench.until(BackendReady)
        bench.backend.perform(Listen(0))
        for number in range(80):
            bench.backend.hear(frame(number))
        bench.backend.perform(Disregard())
        await asyncio.sleep(1)
    assert activity(live.got) == ["activityStart", "activityEnd"]
    assert not bench.of(AgentAudio)
    assert not bench.of(ReplyEnded)


async def test_a_cut_in_voids_the_rest_and_says_what_was_heard():
    async def endless(wire: Wire, message: dict[str, Any]) -> None:
        if "setup" in message:
            await wire.send({"setupComplete": {}})
        elif "activityEnd" in message.get("realtimeInput", {}):
            for _ in range(3):
                await wire.send(sound(0.4))
        elif "clientContent" in message:
            await wire.send(sound(0.4))  # still on its way
            await wire.send({"serverContent": {"turnComplete": True}})

    live = server(endless)
    async with play(live, backend) as bench:
        await bench.until(BackendReady)
        bench.backend.hear(frame(1))
        bench.backend.perform(Respond(1, 1, 7, 0, 160))
        await bench.until(AgentAudio, 3)
        bench.backend.perform(CancelReply(1))
        bench.backend.perform(Truncate(7, 0.5, "Good"))
        await asyncio.sleep(1)
    assert len(bench.of(AgentAudio)) == 3
    (told,) = [m["clientContent"] for m in live.got if "clientContent" in m]
    assert '"Good"' in told["turns"][0]["parts"][0]["text"]
    assert told["turnComplete"] is False


async def test_tools_are_answered_unless_they_were_cancelled():
    async def tools(wire: Wire, message: dict[str, Any]) -> None:
        if "setup" in message:
            await wire.send({"setupComplete": {}})
        elif "activityEnd" in message.get("realtimeInput", {}):
            calls = [{"id": f"f{n}", "name": "lookup", "args": {"n": n}} for n in (1, 2)]
            await wire.send({"toolCall": {"functionCalls": calls}})
            await wire.send({"toolCallCancellation": {"ids": ["f1"]}})
        elif "toolResponse" in message:
            await speak(wire, "Two.")

    live = server(tools)
    async with play(live, backend) as bench:
        await bench.until(BackendReady)
        bench.backend.hear(frame(1))
        bench.backend.perform(Respond(1, 1, 7, 0, 160))
        await bench.until(ToolAsked, 2)
        await asyncio.sleep(0.1)
        bench.backend.perform(AnswerTool(1, "f1", "lookup", {"r": 1}, False))
        bench.backend.perform(AnswerTool(1, "f2", "lookup", {"r": 2}, True, 9))
        await bench.until(ReplyEnded)
    (answer,) = [m["toolResponse"] for m in live.got if "toolResponse" in m]
    assert [one["id"] for one in answer["functionResponses"]] == ["f2"]
    assert bench.of(UtteranceEnded) == [UtteranceEnded(1, 9, "Two.")]


async def test_the_next_connection_resumes_by_handle_or_by_history():
    async def leaving(wire: Wire, message: dict[str, Any]) -> None:
        await handle(wire, message)
        if "setup" in message and len(live.wires) < 3:
            if len(live.wires) == 1:
                update = {"newHandle": "h1", "resumable": True}
                await wire.send({"sessionResumptionUpdate": update})
            else:
                await wire.send({"sessionResumptionUpdate": {"resumable": False}})
            await wire.send({"goAway": {"timeLeft": "30s"}})

    live = server(leaving)
    async with play(live, backend) as bench:
        bench.history = (Entry("caller", "I am Jack"), Entry("agent", "Hello Jack"))
        await bench.until(BackendReady, 3)
        await asyncio.sleep(1)
    setups = [m["setup"]["sessionResumption"] for m in live.got if "setup" in m]
    assert setups == [{}, {"handle": "h1"}, {}]
    told = [m["clientContent"]["turns"] for m in live.got if "clientContent" in m]
    assert [[turn["role"] for turn in turns] for turns in told] == [["user", "model"]]


async def test_a_model_that_owns_turns_gives_its_first_sound_too():
    async def talkative(wire: Wire, message: dict[str, Any]) -> None:
        if "setup" in message:
            await wire.send({"setupComplete": {}})
            await speak(wire, "By myself.")

    async with play(server(talkative), lambda url: backend(url, turns="model")) as bench:

        def numbered(event: BackendEvent) -> None:
            if event == BackendTurn("ended"):
                bench.backend.perform(Respond(1, 1, 7, 0, 0))

        bench.on_event = numbered
        await bench.until(ReplyEnded)
    samples = sum(len(event.pcm) for event in bench.of(AgentAudio)) / 2
    assert samples / 8000 == pytest.approx(0.8, abs=0.01)
    assert bench.of(UtteranceEnded) == [UtteranceEnded(1, 7, "By myself.")]
