from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest
from structlog.testing import capture_logs

from gateway.call.call import LOOK_SECONDS
from gateway.call.conversation.waits import Wait
from gateway.call.pacer import Pacer
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.call.track import Track
from gateway.events import (
    AgentAudio,
    CallerGone,
    Listen,
    PlayoutStarved,
    TimePassed,
)
from gateway.plumbing.fence import fenced_task
from gateway.plumbing.virtual_time import START
from gateway.ports import BackendStart
from media.codec import WireForm
from media.frame import AudioFrame
from tests.support.cascade_call import (
    Silent,
)
from tests.support.cascade_parts import FRAME, RATE
from tests.support.one_call import Line, Silence, make


async def test_a_call_that_breaks_ends_alone_and_the_clock_of_the_others_goes_on():
    with capture_logs() as lines:
        broken, log = make(1)
        well, other_log = make(2)
        pacer = Pacer()
        pacer.start()
        async with asyncio.TaskGroup() as group:
            for call in (broken, well):
                pacer.add(call)
                group.create_task(call.run())
            await asyncio.sleep(0.5)
            broken.conversation.state.tools = None  # type: ignore[assignment]
            broken.post(TimePassed())
            await asyncio.sleep(0.5)
            before = pacer.lateness.ticks
            await asyncio.sleep(0.5)
            assert pacer.lateness.ticks - before >= 24
            well.post(CallerGone("done"))
        pacer.stop()
        assert log.of("fault")[0]["reason"] == "internal error"
        assert not other_log.of("fault")
        assert other_log.of("call_ended")
    assert [line["event"] for line in lines if line["log_level"] == "error"] == ["call_broke"]


async def test_a_call_in_which_nothing_happens_is_looked_at_seldom() -> None:
    """With a caller who listens, and nothing to be sent."""
    async with Line().hold() as line:
        await line.speak(200, 0.007)
    apart = np.diff(line.stream.looks[1:])
    assert apart.min() > LOOK_SECONDS - 0.001
    assert apart.max() < LOOK_SECONDS + 0.021  # at the tick that is next
    assert line.leg.sent == []
    assert line.leg.polled == []
    assert len(line.hearing.fed) == 200


async def test_a_line_that_lives_by_what_it_is_sent_is_looked_at_all_the_time() -> None:
    async with Line(clocked=True).hold() as line:
        await line.speak(200, 0.007)
    assert 198 <= len(line.stream.looks) <= 200
    assert 198 <= len(line.leg.sent) <= 200
    assert {frames for _, frames in line.leg.sent} == {0}
    assert [when - START for when in line.leg.polled] == [when for when, _ in line.leg.sent]


@pytest.mark.parametrize("frames", range(20, 31))
@pytest.mark.parametrize("phase", [0.0, 0.007, 0.013])
async def test_silence_is_heard_when_the_line_stops_and_as_soon_as_if_looked_at_all_the_time(
    frames: int, phase: float
) -> None:
    """Wherever between two looks the line stops."""
    seldom, always = Line(), Line(clocked=True)
    for each in (seldom, always):
        async with each.hold() as line:
            await line.speak(frames, phase)
            await line.at(1.2)
            await line.speak(10, 1.2 + phase)
            await line.at(2.0)
    assert len(seldom.stream.looks) < len(always.stream.looks)
    assert [what for _, *what in seldom.hearing.fed] == [what for _, *what in always.hearing.fed]
    assert [when for when, *_ in seldom.hearing.fed] == pytest.approx(
        [when for when, *_ in always.hearing.fed], abs=1e-6
    )
    last = phase + (frames - 1) * 0.02
    silence = next(when for when, *_ in seldom.hearing.fed if when > last + 1e-6)
    assert last + 0.12 <= silence + 1e-6
    assert silence <= last + 0.12 + 2 * 0.02  # the tick, and a whole frame of silence by then


@pytest.mark.parametrize("idle", [1.0, 1.013, 1.037, 1.049, 1.081, 1.099])
async def test_a_deadline_between_two_looks_is_met_to_the_tick(idle: float) -> None:
    lines = FixedLines(greeting="")
    async with Line(settings=ConversationSettings(lines=lines, idle_seconds=idle)).hold() as line:
        await line.speak(300, 0.007)
    assert len(line.call.late) >= 2
    assert all(0 <= late < 0.02 + 1e-6 for late in line.call.late)
    assert len(line.stream.looks) < 280  # it was silent for a part of the time


async def test_a_deadline_set_between_two_looks_is_met_to_the_tick() -> None:
    """An event brings one that is nearer than the next look."""
    async with Line().hold() as line, asyncio.TaskGroup() as group:
        group.create_task(line.speak(200, 0.007))
        for number in range(20):
            await line.at(1.0 + number * 0.113)
            soon = asyncio.get_running_loop().time() + 0.03
            line.call.conversation.state.waits.until(Wait.WORDS, soon)
            line.call.post(TimePassed())
    late = [each for each in line.call.late if each > -0.001]  # not those that the test brings
    assert len(late) >= 20
    assert max(late) < 0.02 + 1e-6


@pytest.mark.parametrize("when", [1.0, 1.013, 1.05])
async def test_sound_that_begins_in_a_silent_call_leaves_at_once_and_its_model_may_hang(
    when: float,
) -> None:
    """On a line that is looked at seldom; nothing of it is noticed later than on another."""
    starved: list[float] = []
    for clocked in (False, True):
        async with Line(clocked=clocked).hold() as line, asyncio.TaskGroup() as group:
            group.create_task(line.speak(200, 0.007))
            await line.at(when)
            line.call.conversation.state.speech.begin(9, "reply", 1)
            sound = np.full(8 * FRAME, 1000, np.int16).tobytes()
            line.call.post(AgentAudio(0, 9, sound))
            assert bool(line.leg.sent and line.leg.sent[-1][1]) is not line.clocked
        sent = [(at, frames) for at, frames in line.leg.sent if frames]
        first = (when, 5) if not clocked else (pytest.approx(when, abs=0.02 + 1e-6), 6)
        assert sent[0] == (pytest.approx(first[0], abs=0.02 * clocked + 1e-6), first[1])
        assert sum(frames for _, frames in sent) == 8
        starved += [at - line.began for at, event in line.seen if isinstance(event, PlayoutStarved)]
    assert len(starved) == 2
    assert starved[0] == pytest.approx(starved[1], abs=0.02 + 1e-6)


class Breaks(Silent):
    """A backend that breaks in one of its places, in one way."""

    def __init__(self, place: str, kind: type[BaseException]) -> None:
        self.place, self.kind = place, kind

    def _at(self, place: str) -> None:
        if place == self.place:
            raise self.kind("broken")

    async def run(self, start: BackendStart, emit: Callable[..., None]) -> None:
        self._at("run")

        async def inside() -> None:
            self._at("task")
            await asyncio.Event().wait()

        async with asyncio.TaskGroup() as group:
            group.create_task(inside())

    def hear(self, frame: object) -> None:
        self._at("hear")

    def perform(self, command: object) -> None:
        self._at("perform")


@pytest.mark.parametrize(
    "kind", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError]
)
@pytest.mark.parametrize("place", ["run", "task", "hear", "perform"])
async def test_a_backend_that_breaks_is_lost_and_its_call_ends_with_a_word(
    place: str, kind: type[BaseException]
) -> None:
    if (place, kind) == ("task", asyncio.CancelledError):
        pytest.skip("a task that cancels itself has ended as it wanted")
    asyncio.get_running_loop().set_task_factory(fenced_task)
    with capture_logs():
        broken, log = make(1, lambda name: Breaks(place, kind))
        well, other_log = make(2)
        pacer = Pacer()
        pacer.start()
        async with asyncio.TaskGroup() as group:
            for call in (broken, well):
                pacer.add(call)
                group.create_task(call.run())
            await asyncio.sleep(1)
            broken.hear(AudioFrame(bytes(2 * FRAME), RATE, 0))
            broken._perform(Listen(0))
            await asyncio.sleep(60)
            assert not other_log.of("fault")
            well.post(CallerGone("done"))
        pacer.stop()
    faults = log.of("fault")
    assert [fault["part"] for fault in faults] == ["session"]
    assert log.of("call_ended")[0]["reason"] == "backend lost"
    said = [line["text"] for line in log.of("agent_spoke")]
    assert FixedLines().apology in said


async def test_the_first_line_names_the_recording() -> None:
    line = Line()
    line.call._track = Track(Silence(), WireForm("pcmu", RATE, 1), "c1.2.wav")
    async with line.hold() as line:
        await line.at(0.1)
    (started,) = line.log.of("call_started")
    assert started["recording"] == "c1.2.wav"
