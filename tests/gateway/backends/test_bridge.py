from __future__ import annotations

import asyncio
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.server import ServerConnection, serve

from deploy.examples.bridge_model import Call
from gateway.backends.bridge import wire
from gateway.backends.bridge.backend import BridgeBackend, BridgeSettings
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendLost,
    BackendReady,
    CallInfo,
    CancelReply,
    Entry,
    Listen,
    ReplyEnded,
    Respond,
    ToolAsked,
    Truncate,
    UtteranceEnded,
)
from gateway.ports import BackendEvent, BackendStart
from media.frame import AudioFrame


def start(codec: str = "pcmu") -> BackendStart:
    info = CallInfo("c1", "twilio", "test", codec=codec)
    return BackendStart(info, "Be kind.", history=(Entry("caller", "hello"),))


def frame(number: int) -> AudioFrame:
    return AudioFrame(bytes(320), 8000, number * 160, bytes([number]) * 160, "pcmu")


async def test_the_example_model_repeats_a_turn_back_bit_exactly():
    events: list[BackendEvent] = []

    async def call(socket: ServerConnection) -> None:
        await Call(socket).run()

    async with serve(call, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        backend = BridgeBackend(BridgeSettings(f"ws://127.0.0.1:{port}"))
        async with asyncio.TaskGroup() as group:
            for number in range(10):  # sound from before the model is ready is not lost
                backend.hear(frame(number))
            task = group.create_task(backend.run(start(), events.append))
            await until(events, BackendReady)
            for number in range(10, 20):
                backend.hear(frame(number))
            backend.perform(Listen(5 * 160))
            backend.perform(Respond(1, 1, 7, 5 * 160, 15 * 160))
            await until(events, ReplyEnded)
            backend.perform(Truncate(7, 0.1, ""))
            backend.perform(CancelReply(1))
            task.cancel()
        await asyncio.sleep(1)
    sound = [event for event in events if isinstance(event, AgentAudio)]
    expected = b"".join(frame(n).payload for n in range(5, 15))
    assert b"".join(event.payload for event in sound) == expected
    assert {(event.reply, event.utterance) for event in sound} == {(1, 7)}
    assert UtteranceEnded(1, 7) in events


async def test_a_model_that_asks_for_a_tool_and_then_dies():
    events: list[BackendEvent] = []
    told: list[dict[str, object]] = []

    async def call(socket: ServerConnection) -> None:
        told.append(json.loads(await socket.recv()))
        await socket.send('{"type":"ready"}')
        await socket.send('{"type":"tool","reply":1,"ask":"a","name":"t","arguments":{"q":1}}')
        told.append(json.loads(await socket.recv()))
        await socket.send("nonsense")
        await socket.send('{"type":"never heard of"}')
        await socket.close(1011, "out of memory")

    async with serve(call, "127.0.0.1", 0, compression=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        settings = BridgeSettings(f"ws://127.0.0.1:{port}", api_key="secret")
        backend = BridgeBackend(settings)
        async with asyncio.TaskGroup() as group:
            group.create_task(backend.run(start(), events.append))
            await until(events, ToolAsked)
            backend.perform(AnswerTool(1, "a", "t", {"r": 2}, True, 9))
            await until(events, BackendLost)
        await asyncio.sleep(1)
    assert told[0]["history"] == [{"role": "caller", "text": "hello"}]
    assert told[1]["result"] == {"r": 2}
    (lost,) = [event for event in events if isinstance(event, BackendLost)]
    assert lost.fatal
    assert "out of memory" in lost.reason


async def until(events: list[BackendEvent], kind: type) -> None:
    async with asyncio.timeout(30):
        while not any(isinstance(e, kind) for e in events):  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.01)


@given(st.binary(max_size=64))
def test_no_message_does_more_than_raise_a_value_error(message: bytes):
    for read in (wire.parse, lambda m: wire.parse_sound(m, "l16")):
        try:
            read(message)
        except ValueError:
            pass


def test_sound_names_its_reply_and_utterance():
    sound = struct.pack("!II", 3, 4) + b"\x01\x02"
    assert wire.parse_sound(sound, "pcmu") == AgentAudio(3, 4, b"", payload=b"\x01\x02")
    with pytest.raises(ValueError, match="half a sample"):
        wire.parse_sound(sound + b"\x03", "l16")
