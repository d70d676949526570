"""Gemini in a telephone call where its order of events is its own: tools amid speech, notes."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

from gateway.backends.gemini.backend import gemini_backend
from gateway.backends.gemini.settings import GeminiSettings
from gateway.events import Inform
from gateway.ports import ToolSpec
from tests.gateway.backends.test_gemini import check_client, check_server, types
from tests.support.model_server import ModelServer, Wire
from tests.support.phone_call import FORM, PhoneCall, phone_call

assert types is not None
LEVELS = {"preamble": 5000, "answer": 9000}
LOOKUP = ToolSpec("lookup", "Look up.", {"type": "object", "properties": {}})


def sound(name: str, seconds: float) -> dict[str, Any]:
    pcm = np.full(int(24000 * seconds), LEVELS[name], "<i2").tobytes()
    part = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": encoded(pcm)}}
    return {"serverContent": {"modelTurn": {"parts": [part]}}}


def encoded(pcm: bytes) -> str:
    return base64.b64encode(pcm).decode()


class Strict:
    """The service: it closes when it gets sound over a tool, and breaks off when it is told things.

    A turn is answered by a preamble, a tool call without an end of the turn, and the answer.
    """

    def __init__(self, *, calls: bool = True, spoils: bool = False) -> None:
        self.calls = calls
        self.spoils = spoils
        self.waiting = False
        self.broken_off = 0
        self.closed = ""
        self.speaking: asyncio.Task[None] | None = None
        self.group: asyncio.TaskGroup | None = None

    async def handle(self, wire: Wire, message: dict[str, Any]) -> None:
        if "setup" in message:
            await wire.send({"setupComplete": {}})
        elif "realtimeInput" in message and self.waiting:
            self.closed = "sound over a tool"
            await wire.socket.close(1008, "invalid argument")
        elif "activityEnd" in message.get("realtimeInput", {}):
            await wire.send({"serverContent": {"inputTranscription": {"text": "when"}}})
            self.speak(wire, "preamble" if self.calls else "answer", calls=self.calls)
        elif "toolResponse" in message:
            self.waiting = False
            self.speak(wire, "answer")
        elif "clientContent" in message and self.speaking and not self.speaking.done():
            self.broken_off += 1
            self.speaking.cancel()
            await wire.send({"serverContent": {"interrupted": True}})
            await wire.send({"serverContent": {"turnComplete": True}})

    def speak(self, wire: Wire, name: str, *, calls: bool = False) -> None:
        assert self.group is not None
        self.speaking = self.group.create_task(self._speak(wire, name, calls))

    async def _speak(self, wire: Wire, name: str, calls: bool) -> None:
        if self.spoils:
            part = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "%%%"}}
            await wire.socket.send(json.dumps({"serverContent": {"modelTurn": {"parts": [part]}}}))
        for _ in range(4):
            await wire.send(sound(name, 0.25))
            await asyncio.sleep(0.1)
        await wire.send({"serverContent": {"outputTranscription": {"text": f"{name}."}}})
        if calls:
            self.waiting = True
            await wire.send({"toolCall": {"functionCalls": [{"id": "f1", "name": "lookup"}]}})
        else:
            await wire.send({"serverContent": {"generationComplete": True}})
            await asyncio.sleep(0.8)  # as long as it takes to be heard, as the service supposes
            await wire.send({"serverContent": {"turnComplete": True}})


@asynccontextmanager
async def held(service: Strict) -> AsyncIterator[tuple[PhoneCall, ModelServer]]:
    server = ModelServer(service.handle, check_server, check_client)
    voices = {FORM.encode(np.array([at], "<i2").tobytes())[0]: n for n, at in LEVELS.items()}
    async with server.serving(), asyncio.TaskGroup() as service.group:

        def make(name: str) -> Any:
            return gemini_backend(GeminiSettings(url=server.url, api_key="key"))

        async with phone_call(make, voices, tools=(LOOKUP,)) as caller:
            yield caller, server
        if service.speaking is not None:
            service.speaking.cancel()


def main_parts(caller: PhoneCall) -> list[str]:
    """Name what was heard, but for the smear where a resampler begins and ends."""
    return [name for name, begin, end in caller.heard() if end - begin > 0.1]


async def test_a_tool_that_is_asked_for_after_the_model_spoke_gets_its_answer():
    service = Strict()
    async with held(service) as (caller, server):
        caller.tools.seconds = 2.5
        await caller.says()
        await asyncio.sleep(8)
        assert main_parts(caller) == ["preamble", "One moment, please.", "answer"]
        assert caller.longest_silence("answer") < 2.0
        assert [m for m in server.got if "toolResponse" in m]
        assert not caller.faults()
        spoken = [entry.text for entry in caller.history() if entry.role == "agent"]
        assert spoken == ["preamble.", "answer."]


async def test_no_sound_is_sent_while_a_tool_is_unanswered_and_none_of_it_is_lost():
    service = Strict()
    async with held(service) as (caller, server):
        caller.tools.seconds = 4.0
        await caller.says()
        await asyncio.sleep(2.0)
        await caller.says(2.0)
        await asyncio.sleep(6)
        assert not service.closed
        kinds = [next(iter(m.get("realtimeInput", m))) for m in server.got]
        assert kinds.count("activityStart") == kinds.count("activityEnd") == 2
        answered = kinds.index("toolResponse")
        sent = [
            m["realtimeInput"]["audio"]["data"]
            for m in server.got[answered:]
            if "audio" in m.get("realtimeInput", {})
        ]
        assert sum(len(base64.b64decode(one)) for one in sent) / 32000 > 1.9


async def test_what_it_is_told_while_it_speaks_waits_for_the_end():
    service = Strict(calls=False)
    async with held(service) as (caller, server):
        await caller.says()
        await asyncio.sleep(0.6)
        caller.call._perform(Inform("The caller pressed 5."))
        await asyncio.sleep(4)
        assert not service.broken_off
        assert [m for m in server.got if "clientContent" in m]
        assert sum(end - begin for name, begin, end in caller.heard() if name == "answer") > 0.9


async def test_sound_that_is_no_base64_costs_that_piece_alone():
    service = Strict(calls=False, spoils=True)
    async with held(service) as (caller, _server):
        await caller.says()
        await asyncio.sleep(4)
        assert main_parts(caller) == ["answer"]
        assert not caller.faults()
