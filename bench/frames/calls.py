"""What one frame costs: calls on the media path in one process, with no network around them.

Every call is a Twilio stream as the gateway runs it, from the JSON of a message to the bytes that
are written: parsing, the caller's stream, voice activity, turn-taking, the echo reference, the
conversation, the ledger, marks and framing.
Only the socket is not there, and time is the script's: nothing waits, so that all that is counted
is work, and two runs do the same work.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bench.calls.speech import SPEECH, recordings
from gateway.call.assembly import Parts, assemble
from gateway.call.call import Call
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.caller.twilio_wire import Writer
from gateway.doors.table import Who
from gateway.events import (
    AgentAudio,
    CallInfo,
    ReplyEnded,
    Respond,
    RunTool,
    ToolAnswered,
    UtteranceEnded,
)
from gateway.lines.twilio import stream, wire
from gateway.lines.twilio.connection import TwilioStream
from gateway.lines.twilio.leg import TwilioLeg
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.twilio.tokens import Ticket
from gateway.lines.websocket.socket import MediaSocket, SocketLimits
from gateway.log_events import LogEvent
from gateway.plumbing.virtual_time import VirtualTimeLoop
from gateway.ports import BackendStart, BackendTraits
from inference.runtime import Runtime, RuntimeSettings
from media.codec import WireForm, wire_form
from media.frame import FRAME_SECONDS
from turn.taking import TurnSettings, TurnTaking
from turn.vad import VoiceActivity, Voices

_MULAW = wire_form("pcmu", 8000)

FRAME = 160
"""Samples of a telephone's 20 ms."""

KINDS = ("complete", "short_turn")
"""Recordings that callers play, again and again."""

ANSWER = 4 * 8000
"""Samples of an answer. Callers go on with their recordings, so that they talk over it too."""

SETTLE = 100
"""Frames before anything is counted."""

DELAY = 6
"""Frames after which a mark comes back: a lead of 100 ms, and the way."""


class _Wire:
    """In place of a connection: counts what is written, and keeps the marks."""

    def __init__(self) -> None:
        self.underlying_transport = self
        self.written = 0
        self.marks: list[str] = []

    def send(self, kind: object, message: bytes) -> None:
        """Take one message."""
        self.write(message)

    def write(self, data: bytes) -> None:
        """Take whole frames."""
        self.written += len(data)
        at = data.find(b'"mark":{"name":"')
        while at >= 0:
            end = data.index(b'"', at + 16)
            self.marks.append(data[at + 16 : end].decode())
            at = data.find(b'"mark":{"name":"', end)

    def get_write_buffer_size(self) -> int:
        """Return that everything has left."""
        return 0


class _Backend:
    """Answers every turn with the same sound, at once."""

    traits = BackendTraits()

    def __init__(self, pcm: bytes) -> None:
        self._pcm = pcm
        self._emit: Callable[[Any], None] = lambda event: None

    async def run(self, start: BackendStart, emit: Callable[[Any], None]) -> None:
        """Serve until the end."""
        self._emit = emit
        await asyncio.Event().wait()

    def hear(self, frame: object) -> None:
        """Take the caller's sound."""

    def perform(self, command: object) -> None:
        """Answer a turn."""
        if isinstance(command, Respond):
            reply, utterance = command.reply, command.utterance
            self._emit(AgentAudio(reply, utterance, self._pcm))
            self._emit(UtteranceEnded(reply, utterance))
            self._emit(ReplyEnded(reply))

    async def words(self, start: int, end: int) -> str | None:
        """Return that nobody listens."""
        return None

    def done(self, at: int) -> float | None:
        """Return that nobody judges."""
        return None


class _Nothing:
    """No fixed lines, no tools, and a log that nobody reads."""

    def ready(self, text: str, rate: int) -> None:
        """Return that no sentence is rendered."""

    async def render(self, text: str, rate: int) -> Any:
        """Fail."""
        raise OSError("there is no voice")

    async def run(self, effect: RunTool) -> ToolAnswered:
        """Answer at once."""
        return ToolAnswered(effect.ask, {}, "done")

    def write(self, event: LogEvent) -> None:
        """Forget a line."""


@dataclass
class _Line:
    """The Twilio line of the measurement: every stream is a call."""

    voices: Voices
    answer: bytes
    settings: TwilioSettings = field(default_factory=TwilioSettings)
    calls: list[Call] = field(default_factory=list)

    def admit(self, start: wire.StartDetail, who: Who) -> Ticket | stream.Refused:
        """Let everybody in."""
        return Ticket(start.call_sid, "bench")

    def begin(
        self, ticket: Ticket, start: wire.StartDetail, form: WireForm, socket: MediaSocket
    ) -> TwilioLeg:
        """Assemble the call."""
        info = CallInfo(start.call_sid, "twilio", "bench")
        leg = TwilioLeg(info, start.stream_sid, socket, form, self.settings, None)
        nothing, turns = _Nothing(), TurnSettings()
        parts = Parts(
            leg,
            ConversationSettings(lines=FixedLines(greeting=""), idle_seconds=3600.0),
            turns,
            TurnTaking(info.rate, turns),
            lambda hear: self.voices.open(info.rate, hear),
            None,
            lambda name: _Backend(self.answer),
            nothing,
            nothing,
            nothing,
        )
        self.calls.append(assemble(parts))
        return leg

    def forget(self, leg: TwilioLeg) -> None:
        """Let go of a leg."""

    def missed(self, start: object, refused: stream.Refused, peer: str) -> None:
        """Raise, since nobody may be refused here."""
        raise RuntimeError(refused.reason)


class _Caller:
    """One far end: speaks a recording over and over, and gives marks back."""

    def __init__(self, number: int, line: _Line, sound: bytes) -> None:
        self._writer = Writer(f"MZ{number}", f"CA{number}", "AC0")
        self._sound = sound
        self._frames = len(sound) // FRAME
        self.wire = _Wire()
        self._stream = TwilioStream(line, "bench", "setting")
        self._socket = MediaSocket(self._stream, SocketLimits(ping_seconds=1e6))
        self._socket.on_ws_connected(self.wire)  # type: ignore[arg-type]
        self._coming: list[tuple[int, str]] = []
        self.receive(self._writer.connected())
        self.receive(self._writer.start({}))
        self.call = line.calls[-1]

    def receive(self, message: bytes) -> None:
        """Give the gateway a message."""
        self._stream.received(memoryview(message))

    def messages(self, tick: int) -> list[bytes]:
        """Return what comes from here in a tick."""
        at = tick % self._frames * FRAME
        found = [self._writer.media(self._sound[at : at + FRAME], 20 * tick)]
        if self.wire.marks:
            self._coming += [(tick + DELAY, name) for name in self.wire.marks]
            self.wire.marks.clear()
        while self._coming and self._coming[0][0] <= tick:
            found.append(self._writer.mark(self._coming.pop(0)[1]))
        return found


Work = Callable[[], None]
"""What there is to do in a tick."""

Messages = Sequence[tuple[_Caller, list[bytes]]]
"""What comes in a tick."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What was measured; a frame is 20 ms of one call, both ways."""

    calls: int
    frames: int
    microseconds: float
    "processor time a frame"
    written: int
    "bytes that left"


class Frames:
    """Holds calls in virtual time, and says what their frames cost."""

    def __init__(self, calls: int) -> None:
        """Take how many calls there are at once."""
        self._count = calls
        self._voices = VoiceActivity(Runtime(RuntimeSettings(workers=1)))

    def run(self, frames: int, around: Callable[[Work], None] = lambda work: work()) -> Cost:
        """Hold the calls for so many frames that count; `around` does each tick's work."""
        loop = VirtualTimeLoop()
        try:
            return loop.run_until_complete(self._hold(loop, frames, around))
        finally:
            loop.close()

    async def _hold(
        self, loop: VirtualTimeLoop, frames: int, around: Callable[[Work], None]
    ) -> Cost:
        spoken = [each.pcm for each in recordings(SPEECH, KINDS)]
        line = _Line(self._voices, b"".join(spoken)[: 2 * ANSWER])
        sounds = [_MULAW.encode(each) for each in spoken]
        callers = [_Caller(n, line, sounds[n % len(sounds)]) for n in range(self._count)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each.call.run()) for each in callers]
            await asyncio.sleep(0)
            gc.collect()
            spent = 0.0
            for tick in range(SETTLE + frames):
                messages = [(each, each.messages(tick)) for each in callers]
                loop.block(FRAME_SECONDS)
                work = partial(self._tick, messages, line.calls, loop.time())
                begun = time.process_time()
                if tick < SETTLE:
                    work()
                else:
                    around(work)
                    spent += time.process_time() - begun
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
        written = sum(each.wire.written for each in callers)
        return Cost(self._count, frames, 1e6 * spent / frames / self._count, written)

    def _tick(self, messages: Messages, calls: Sequence[Call], now: float) -> None:
        """Read, send, look at what has come to pass, and judge what was heard."""
        for caller, texts in messages:
            for text in texts:
                caller.receive(text)
        for call in calls:
            call.send_due(now)
        for call in calls:
            call.tick(now)
        self._voices.score_pending()
