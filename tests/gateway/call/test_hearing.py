"""Turn-taking that breaks breaks its own call, and no other that is judged with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from gateway.call.call import Call
from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.faults import Faults
from gateway.call.hearing import Hearing
from gateway.call.settings import ConversationSettings
from gateway.events import CallerGone, CallInfo
from gateway.ports import BackendStart, BackendTraits
from inference.runtime import Runtime
from media.frame import AudioFrame
from tests.support.cascade_call import FakeLeg, LineBook, Log, Silent, Tools
from turn.events import TurnInput, TurnOutput, VoiceScored
from turn.vad import VoiceActivity

RATE = 8000
WINDOW = 256


class Unrendered(LineBook):
    """Has no line ready, so that a call that breaks is over at once."""

    def ready(self, text: str, rate: int) -> Any:
        return None

    async def render(self, text: str, rate: int) -> Any:
        return super().ready(text, rate)


@pytest.fixture
def voices() -> Iterator[VoiceActivity]:
    runtime = Runtime()
    yield VoiceActivity(runtime)
    runtime.close()


class Taking:
    """Notes what it is told, and raises from a window's position on."""

    def __init__(self, breaks_from: int | None) -> None:
        self.windows: list[int] = []
        self._breaks_from = breaks_from

    def handle(self, event: TurnInput) -> list[TurnOutput]:
        if isinstance(event, VoiceScored):
            self.windows.append(event.start)
            if self._breaks_from is not None and event.start >= self._breaks_from:
                raise RuntimeError("this turn-taking is broken")
        return []


class One:
    """One call, whose turn-taking may break."""

    def __init__(self, voices: VoiceActivity, name: str, breaks_from: int | None = None) -> None:
        info = CallInfo(name, "twilio", "test")
        self.taking = Taking(breaks_from)
        self.log = Log()
        stream = ContinuousStream(RATE)
        hearing = Hearing(stream, lambda hear: voices.open(RATE, hear), None, self.taking)
        self.call = Call(
            FakeLeg(info),
            Conversation(info, ConversationSettings(), BackendTraits()),
            hearing,
            stream,
            lambda name: Silent(),
            lambda of: BackendStart(info, ""),
            Unrendered(),
            Tools(),
            self.log,
        )


@pytest.mark.parametrize("broken", [0, 1, 2])
async def test_turn_taking_that_raises_ends_its_call_alone(
    voices: VoiceActivity, broken: int
) -> None:
    """Wherever in a batch it is: the windows of the others are handed out all the same."""

    with capture_logs() as lines:
        voices.attend()
        calls = [
            One(voices, f"c{n}", breaks_from=4 * WINDOW if n == broken else None) for n in range(3)
        ]
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(each.call.run()) for each in calls]
            await asyncio.sleep(0.1)
            for number in range(50):  # all in one batch each time
                for each in calls:
                    pcm = np.zeros(WINDOW, np.int16).tobytes()
                    each.call.hear(AudioFrame(pcm, RATE, number * WINDOW))
                await asyncio.sleep(0.032)
            assert [each.done() for each in running] == [n == broken for n in range(3)]
            for each in calls:
                each.call.notice(CallerGone("done"))
        calls = calls
    told = [each for each in lines if each["log_level"] == "error"]
    assert [(each["event"], each["call_id"]) for each in told] == [("call_broke", f"c{broken}")]
    for number, each in enumerate(calls):
        windows = [n * WINDOW for n in range(50)]
        if number == broken:
            assert each.taking.windows == windows[:5]
            assert [fault["reason"] for fault in each.log.of("fault")] == ["internal error"]
        else:
            assert each.taking.windows == windows
            assert not each.log.of("fault")
            assert each.log.of("call_ended")


async def test_a_call_that_breaks_at_every_window_says_so_once(voices: VoiceActivity) -> None:
    """Also where many windows are handed out in one go."""

    with capture_logs() as lines:
        voices.attend()
        one = One(voices, "c1", breaks_from=2 * WINDOW)
        async with asyncio.TaskGroup() as group:
            group.create_task(one.call.run())
            await asyncio.sleep(0.1)
            one.call.hear(AudioFrame(bytes(2 * 10 * WINDOW), RATE, 0))
        one = one
    assert [each["event"] for each in lines if each["log_level"] == "error"] == ["call_broke"]
    assert len(one.log.of("fault")) == 1
    assert one.taking.windows == [0, WINDOW, 2 * WINDOW]


async def test_echo_that_cannot_be_judged_breaks_its_call_alone(voices: VoiceActivity) -> None:
    """What is asked about a window before turn-taking hears of it is fenced as well."""

    class Broken:
        def score(self, start: int, end: int) -> float:
            raise RuntimeError("this echo is broken")

        def sent(self, start: int, payload: bytes) -> None: ...

        def cut(self, start: int) -> None: ...

    broke: list[str] = []
    taking = Taking(None)
    hearing = Hearing(
        ContinuousStream(RATE),
        lambda hear: voices.open(RATE, hear),
        None,
        taking,
        lambda recent: Broken(),
    )

    async def words(start: int, end: int) -> str:
        return ""

    async with asyncio.TaskGroup() as group:
        hearing.begin(
            group, lambda event: None, words, faults=Faults(broke=lambda: broke.append("told"))
        )
        hearing.scored(VoiceScored(0, WINDOW, 0.9, -20.0))
    hearing.close()
    assert broke == ["told"]
    assert taking.windows == []
