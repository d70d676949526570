"""What the model is told was heard, against a recording of what the far side of a line played."""

from __future__ import annotations

import asyncio
import random

import pytest

from gateway.backends.realtime.backend import realtime_backend
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.call.call import Call
from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.pacer import Pacer
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.events import CallerClaimed, CallerTurnEnded
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.plumbing.virtual_time import run
from gateway.ports import BackendStart, BackendTraits, Free, Leg, Refusal, no_place
from tests.gateway.lines.twilio.harness import far_end, serving
from tests.support.cascade_call import LineBook, Log, ToldHearing, Tools
from tests.support.realtime_server import Answer, FakeRealtime
from tests.support.telephone import Telephone
from turn.events import FloorClaimed, SpeechStarted, TurnEnded

CUT_INS = 50


class Answering:
    """Puts each call on the line through to the model."""

    def __init__(self, server: FakeRealtime) -> None:
        self.server = server
        self.pacer = Pacer()
        self.log = Log()
        self.calls: list[Call] = []
        self.group: asyncio.TaskGroup | None = None

    def admit(self, agent: str) -> Refusal | None:
        return None

    def take(self) -> Free:
        return no_place

    def knows(self, agent: str) -> bool:
        return agent != "nobody"

    def missed(self, call: CallRefusedLogged | CallFailedLogged) -> None:
        raise AssertionError(call)

    def begin(self, leg: Leg) -> None:
        settings = ConversationSettings(lines=FixedLines(greeting=""), idle_seconds=1e6)
        call = Call(
            leg,
            Conversation(leg.info, settings, BackendTraits()),
            ToldHearing(),  # type: ignore[arg-type]
            ContinuousStream(8000),
            lambda name: realtime_backend(RealtimeSettings(url=self.server.url)),
            lambda of: BackendStart(leg.info, "", next_utterance=of.state.speech.new_id),
            LineBook(),
            Tools(),
            self.log,
        )
        self.calls.append(call)
        self.pacer.add(call)
        assert self.group is not None
        self.group.create_task(call.run())


class Found:
    """What each cut-in gave."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.heard: list[int] = []
        self.errors: list[str] = []
        self.first_sound: list[float] = []
        self.first_media: list[float] = []


async def cut_ins(chance: random.Random) -> Found:
    """Let a caller cut in again and again, and compare."""
    found = Found()
    loop = asyncio.get_running_loop()
    answer = Answer("one two three four five six seven eight nine ten", 10000, delay=0.05)
    async with FakeRealtime([answer], ["hello"]).serving() as server:
        answering = Answering(server)
        async with (
            serving(answer=answering) as served,  # type: ignore[arg-type]
            far_end(served) as far,
            asyncio.TaskGroup() as group,
        ):
            answering.group = group
            answering.pacer.start()
            telephone = Telephone(far)
            await far.start()
            tasks = [group.create_task(telephone.listen()), group.create_task(telephone.speak())]
            await asyncio.sleep(0.5)
            (call,) = answering.calls
            watch_first_sound(server, found)
            for number in range(CUT_INS + 1):
                start = call._stream.end
                if number:
                    await cut_in(call, telephone, found)
                else:
                    call.post(SpeechStarted(start, start))
                telephone.recording.clear()
                await asyncio.sleep(0.5)
                end = call._stream.end
                ended = TurnEnded(end, start, end, "semantic", 0.9)
                telephone.silent = True
                call.post(CallerTurnEnded(ended, loop.time() - 0.1))
                await asyncio.sleep(chance.uniform(0.4, 6.0))
            for task in tasks:
                task.cancel()
            await far.send({"event": "stop", "streamSid": "MZ0a", "stop": {}})
            await asyncio.sleep(1)
        answering.pacer.stop()
        truncations = server.seen.of("conversation.item.truncate")
        found.told = [event["audio_end_ms"] for event in truncations]
        found.errors = server.seen.errors
        found.first_media = telephone.first_media
    return found


def watch_first_sound(server: FakeRealtime, found: Found) -> None:
    """Note when the model gives the first sound of each answer."""
    (session,) = server.sessions
    tone, loop = session._tone, asyncio.get_running_loop()

    def noted(number: int) -> bytes:
        if number == 0:
            found.first_sound.append(loop.time())
        return tone(number)

    session._tone = noted  # type: ignore[method-assign]


async def cut_in(call: Call, telephone: Telephone, found: Found) -> None:
    """Take the floor, and count what was heard of the answer when all is still."""
    at, now = call._stream.end, asyncio.get_running_loop().time()
    call.post(CallerClaimed(FloorClaimed(at, at - 2400, "length"), now - 0.3))
    await asyncio.sleep(0.3)
    telephone.play()
    found.heard.append(sum(1 for byte in telephone.recording if byte < 0x80))


@pytest.mark.parametrize("seed", [20])
def test_the_model_is_told_within_sixty_milliseconds_what_the_caller_heard(seed: int) -> None:
    found = run(cut_ins(random.Random(seed)))
    assert len(found.told) == len(found.heard) == CUT_INS
    off = [abs(told - heard / 8) for told, heard in zip(found.told, found.heard, strict=True)]
    assert max(off) <= 60, f"off by {sorted(off)[-5:]} ms"
    assert max(found.heard) > 5 * 8000
    assert not found.errors, "a truncation is never longer than the sound"
    waits = sorted(
        media - sound for sound, media in zip(found.first_sound, found.first_media, strict=False)
    )
    assert waits[int(len(waits) * 0.95)] <= 0.045, "a frame of the schedule and 25 ms"
