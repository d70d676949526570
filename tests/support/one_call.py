"""One call behind a line that is told what to do, and with models that do nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gateway.call.call import Call
from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.conversation.vocabulary import Event
from gateway.call.pacer import Pacer
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.events import (
    CallerGone,
    CallInfo,
    TimePassed,
)
from gateway.ports import Backend, BackendStart, BackendTraits
from media.codec import WireForm
from media.frame import AudioFrame
from media.playout import Chunk, Playout
from tests.support.cascade_call import (
    FakeLeg,
    LineBook,
    Log,
    Silent,
    ToldHearing,
    Tools,
    WatchedCall,
)
from tests.support.cascade_parts import FRAME, RATE


class Telephone(FakeLeg):
    """A line that notes when it is sent to, and how many frames."""

    def __init__(self, info: CallInfo, *, clocked: bool = False, lead: int = 0) -> None:
        super().__init__(info)
        self.clocked = clocked
        self.playout = Playout(WireForm("pcmu", RATE, 1), lead=lead, basis="sent")
        self.sent: list[tuple[float, int]] = []
        self.polled: list[float] = []
        self.handed_on: list[str] = []

    def transfer(self, target: str, summary: str) -> None:
        self.handed_on.append(target)

    def send(self, chunks: Sequence[Chunk]) -> None:
        self.sent.append((asyncio.get_running_loop().time(), len(chunks)))

    def poll(self, now: float) -> None:
        self.polled.append(now)


class Listening(ToldHearing):
    """Hears as it is told, and notes what sound there was."""

    def __init__(self) -> None:
        self.fed: list[tuple[float, int, int]] = []
        "when, from where to where"

    def feed(self, frame: AudioFrame) -> None:
        self.fed.append((asyncio.get_running_loop().time(), frame.start, frame.end))


class Stream(ContinuousStream):
    """Notes when somebody looked whether anything came."""

    looks: list[float]

    def idle(self, now: float) -> AudioFrame | None:
        self.looks.append(now)
        return super().idle(now)


class Silence:
    """Where nothing is recorded."""

    def left(self, start: int, sound: bytes, form: WireForm | None = None) -> None:
        pass

    right = left

    def cut_right(self, start: int) -> None:
        pass

    def close(self) -> None:
        pass


class Timed(WatchedCall):
    """Notes by how much time passed late."""

    late: list[float]

    def post(self, event: Event) -> None:
        if isinstance(event, TimePassed) and self.conversation.deadline is not None:
            self.late.append(self._now() - self.conversation.deadline)
        super().post(event)


@dataclass
class Line:
    """One call with nobody on it but who the test says."""

    clocked: bool = False
    lead: int = 800
    settings: ConversationSettings = field(
        default_factory=lambda: ConversationSettings(lines=FixedLines(greeting=""))
    )
    frames: int = 0
    "that have come"
    may_place: Callable[[], bool] = lambda: True

    def __post_init__(self) -> None:
        info = CallInfo("c1", "twilio", "test")
        self.leg = Telephone(info, clocked=self.clocked, lead=self.lead)
        self.log = Log()
        self.hearing = Listening()
        self.stream = Stream(info.rate)
        self.stream.looks = []
        self.call = Timed(
            self.leg,
            Conversation(info, self.settings, BackendTraits()),
            self.hearing,  # type: ignore[arg-type]
            self.stream,
            lambda name: Silent(),
            lambda of: BackendStart(info, ""),
            LineBook(),
            Tools(),
            self.log,
            may_place=self.may_place,
        )
        self.call.late = []
        self.seen = self.call.watch()
        self.began = 0.0

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Line]:
        """Hold a call, in which something happens; its beginning is time 0."""
        self.began = asyncio.get_running_loop().time()
        pacer = Pacer()
        pacer.add(self.call)
        pacer.start()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.call.run())
            await asyncio.sleep(0)
            yield self
            self.call.post(CallerGone("done"))
        pacer.stop()
        self.leg.sent = [(when - self.began, frames) for when, frames in self.leg.sent]
        self.hearing.fed = [(when - self.began, *what) for when, *what in self.hearing.fed]

    async def at(self, seconds: float) -> None:
        """Wait for a time of the call."""
        await asyncio.sleep(self.began + seconds - asyncio.get_running_loop().time())

    async def speak(self, frames: int, first: float) -> None:
        """Let frames come every 20 ms from a time on; the line counts those that came alone."""
        for number in range(frames):
            await self.at(first + number * 0.02)
            self.call.hear(AudioFrame(bytes(2 * FRAME), RATE, self.frames * FRAME))
            self.frames += 1


def make(
    number: int,
    backends: Callable[[str], Backend] = lambda name: Silent(),
    info: CallInfo | None = None,
    tools: Tools | None = None,
) -> tuple[Call, Log]:
    info = info or CallInfo(f"c{number}", "twilio", "test")
    log = Log()
    conversation = Conversation(info, ConversationSettings(), BackendTraits())
    call = Call(
        FakeLeg(info),
        conversation,
        ToldHearing(),  # type: ignore[arg-type]
        ContinuousStream(info.rate),
        backends,
        lambda of: BackendStart(info, ""),
        LineBook(),
        tools or Tools(),
        log,
    )
    return call, log
