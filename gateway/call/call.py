"""One call at work: the shell that feeds the conversation machine and performs its effects.

One inbox, one performer, one fence. Everything here runs on the loop and returns at once; slow
work runs in tasks of the call's own group and comes back as events.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol, assert_never

import structlog

from gateway.call.conversation import Conversation
from gateway.call.ear import ContinuousStream
from gateway.call.hearing import Hearing
from gateway.call.mouth import Mouth
from gateway.call.state import Effect, Event
from gateway.call.tasks import Tasks
from gateway.call.track import Track
from gateway.events import (
    AgentAudio,
    AnswerTool,
    BackendLost,
    CallerGone,
    CallerKey,
    CallStarted,
    CancelReply,
    CancelTool,
    ChooseProfile,
    Disregard,
    Draft,
    DropDraft,
    Duck,
    EndUtterance,
    Flush,
    HangUp,
    Hold,
    Inform,
    Listen,
    Play,
    PlayoutDry,
    Record,
    Respond,
    Resume,
    RunTool,
    SendKeys,
    Speak,
    SwitchBackend,
    TimePassed,
    ToolAnswered,
    Transfer,
    Truncate,
    UtteranceEnded,
    Word,
)
from gateway.ports import Backend, BackendEvent, BackendStart, Leg, LineEvent, Witness
from media.frame import AudioFrame

GONE_SECONDS = 5.0
"""How long a line may take to report a hang-up that was asked for."""

WRITES_SECONDS = 15.0
"""How long a write that is under way is waited for after the caller has gone."""

KEPT_FRAMES = 750
"""Frames of the caller's sound kept for a backend that takes over in the middle of a turn: 15 s,
longer than all but few turns on a telephone; about half a megabyte."""

PREFIX_SECONDS = 0.3
"""What such a backend is given from before the first voiced sample: soft onsets lie there."""

log = structlog.get_logger("call")


class FixedLine(Protocol):
    """A sentence as sound."""

    @property
    def pcm(self) -> bytes:
        """Signed 16-bit samples at the rate asked for."""

    @property
    def words(self) -> tuple[Word, ...]:
        """Its words, times from the first sample."""


class FixedLineBook(Protocol):
    """Where sentences are rendered ahead."""

    def ready(self, text: str, rate: int) -> FixedLine | None:
        """Give the sentence's sound, if it is there already."""

    async def render(self, text: str, rate: int) -> FixedLine:
        """Make the sentence's sound; raises OSError when the voice fails."""


class Toolbox(Protocol):
    """Where tools are run."""

    async def run(self, effect: RunTool) -> ToolAnswered:
        """Run one tool to its end; never raises for what the tool does."""


class CallLog(Protocol):
    """Where the call's story is written."""

    def write(self, event: str, fields: Mapping[str, Any]) -> None:
        """Write one line, without waiting."""


class Call:
    """Runs one call on one leg, from its start to its last word."""

    def __init__(
        self,
        leg: Leg,
        conversation: Conversation,
        hearing: Hearing,
        stream: ContinuousStream,
        backends: Callable[[str], Backend],
        start: Callable[[Conversation], BackendStart],
        lines: FixedLineBook,
        toolbox: Toolbox,
        call_log: CallLog,
        track: Track | None = None,
    ) -> None:
        self.leg = leg
        self.conversation = conversation
        self._hearing = hearing
        self._stream = stream
        self._make_backend = backends
        self._start = start
        self._lines = lines
        self._toolbox = toolbox
        self._log = call_log
        self._track = track
        self._witness: Witness | None = getattr(leg, "witness", None)
        self._mouth = Mouth(
            leg, stream, hearing, conversation.state.speech, track, self._witness, self.post
        )
        self._inbox: deque[Event] = deque()
        self._busy = False
        fallbacks = conversation.state.settings.fallbacks
        self._kept: deque[AudioFrame] = deque(maxlen=KEPT_FRAMES if fallbacks else 0)
        self._tasks = Tasks(WRITES_SECONDS)
        self._over = asyncio.Event()

    # --- what the line calls -----------------------------------------------------------------

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's next frame."""
        for placed in self._stream.push(frame, self._now()):
            self._take(placed)

    def notice(self, event: LineEvent) -> None:
        """Take anything else that happened on the leg."""
        if isinstance(event, CallerKey):
            self._hearing.key(event.key)
        self.post(event)

    # --- what the pacer calls ----------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Send what is due, hear silence where nothing came, notice what was heard and waited."""
        silence = self._stream.idle(now)
        if silence is not None:
            self._take(silence)
        self._mouth.tick(now)
        deadline = self.conversation.deadline
        if deadline is not None and now >= deadline:
            self.post(TimePassed())

    # --- the inbox and the fence -----------------------------------------------------------------

    def post(self, event: Event) -> None:
        """Take an event: what it leads to is done before this returns, in order."""
        self._inbox.append(event)
        if self._busy:
            return
        self._busy = True
        try:
            while self._inbox:
                one = self._inbox.popleft()
                for effect in self.conversation.handle(one, self._now()):
                    self._perform(effect)
                if isinstance(one, CallerGone):
                    self._over.set()
        finally:
            self._busy = False

    async def run(self) -> None:
        """Run the call until the leg is down and everything under way is done with."""
        try:
            async with asyncio.TaskGroup() as group:
                self._tasks.group = group
                self._hearing.begin(group, self.post, self._words, self._done)
                self._open_backend("")
                self.post(CallStarted(self.leg.info))
                self.leg.attach(self)
                await self._over.wait()
                await self._tasks.wind_up()
        except Exception:  # fence: one broken call must not touch the others
            log.exception("call_broke", call_id=self.leg.info.call_id)
            self._log.write("fault", {"part": "gateway", "reason": "internal error"})
            self.leg.hang_up("internal error")
        finally:
            self._hearing.close()
            if self._track is not None:
                self._track.close()

    def end(self, event: Event) -> None:
        """End the call from outside (drain, operator)."""
        self.post(event)

    # --- effects -----------------------------------------------------------------------------

    def _perform(self, effect: Effect) -> None:
        match effect:
            case (
                Listen()
                | Disregard()
                | Draft()
                | DropDraft()
                | Respond()
                | CancelReply()
                | Truncate()
                | AnswerTool()
                | Inform()
            ):
                self._tasks.backend_perform(effect)
            case Record(event=event, fields=fields):
                self._log.write(event, fields)
                self._observe(event, fields)
            case Play() | EndUtterance() | Duck() | Hold() | Resume() | Flush():
                self._mouth.perform(effect, self._now())
            case Speak(utterance=utterance, text=text):
                self._speak(utterance, text)
            case RunTool():
                self._tasks.spawn(self._run_tool(effect), key=effect.ask, kind="tool")
            case CancelTool(ask=ask):
                self._tasks.cancel(ask)
            case ChooseProfile(name=name, expects=expects):
                self._hearing.choose(name, expects)
            case SendKeys(keys=keys):
                self.leg.send_keys(keys)
            case Transfer(target=target, summary=summary):
                self.leg.transfer(target, summary)
            case HangUp(reason=reason):
                self.leg.hang_up(reason)
                self._tasks.spawn(self._gone_for_sure(reason), key="gone", kind="line")
            case SwitchBackend(name=name, start=start):
                self._open_backend(name)
                if start is not None:
                    self._hand_on(start)
            case _:
                assert_never(effect)

    def _speak(self, utterance: int, text: str) -> None:
        line = self._lines.ready(text, self.leg.info.rate)
        if line is not None:
            self._say(utterance, line)
        else:
            self._tasks.spawn(self._render(utterance, text), key=f"line{utterance}", kind="line")

    def _say(self, utterance: int, line: FixedLine) -> None:
        self.post(AgentAudio(0, utterance, line.pcm, line.words))
        self.post(UtteranceEnded(0, utterance))

    async def _render(self, utterance: int, text: str) -> None:
        try:
            line = await self._lines.render(text, self.leg.info.rate)
        except OSError as broken:
            self._log.write("fault", {"part": "voice", "reason": str(broken)})
            # The wait for a line that cannot be said must still end.
            self.post(PlayoutDry())
        else:
            self._say(utterance, line)

    async def _run_tool(self, effect: RunTool) -> None:
        self.post(await self._toolbox.run(effect))

    async def _gone_for_sure(self, reason: str) -> None:
        await asyncio.sleep(GONE_SECONDS)
        self.post(CallerGone(reason))

    def _open_backend(self, name: str) -> None:
        backend = self._make_backend(name)
        self.conversation.state.traits = backend.traits
        self._tasks.switch(backend, self._serve(backend))

    def _hand_on(self, start: int) -> None:
        """Give the backend that takes over the sound that the one before it was given."""
        backend = self._tasks.backend
        if backend is None:
            return
        backend.perform(Listen(start))
        since = start - int(PREFIX_SECONDS * self.leg.info.rate)
        for frame in self._kept:
            if frame.end > since:
                backend.hear(frame)

    async def _serve(self, backend: Backend) -> None:
        def emit(event: BackendEvent) -> None:
            if self._tasks.backend is backend:  # what a replaced backend still says is void
                self.post(event)

        try:
            await backend.run(self._start(self.conversation), emit)
        except Exception as broken:  # fence: a backend that breaks its port must not take the call
            log.exception("backend_broke", call_id=self.leg.info.call_id)
            emit(BackendLost(f"{type(broken).__name__}: {broken}"))

    # --- sound in, positions out ---------------------------------------------------------------

    def _take(self, frame: AudioFrame) -> None:
        if self._track is not None:
            self._track.came(frame)
        self._kept.append(frame)
        self._hearing.feed(frame)
        backend = self._tasks.backend
        if backend is not None:
            backend.hear(frame)

    async def _words(self, start: int, end: int) -> str:
        words = getattr(self._tasks.backend, "words", None)
        return "" if words is None else (await words(start, end)).text

    def _done(self, at: int) -> float | None:
        done = getattr(self._tasks.backend, "done", None)
        return None if done is None else done(at)

    # --- what a page is shown ------------------------------------------------------------------

    def _observe(self, event: str, fields: Mapping[str, Any]) -> None:
        if self._witness is not None:
            self._witness.observe(event, fields)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
