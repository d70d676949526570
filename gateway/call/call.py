"""One call at work: the shell that feeds the conversation machine and performs its effects.

One inbox, one performer, one fence. Everything here runs on the loop and returns at once; slow
work runs in tasks of the call's own group and comes back as events.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Protocol, assert_never

import structlog

from gateway.call.answering import Answering
from gateway.call.caller_stream import ContinuousStream
from gateway.call.conversation.machine import Conversation
from gateway.call.conversation.vocabulary import Effect, Event
from gateway.call.course import Course, loop_time
from gateway.call.farewell import Farewell
from gateway.call.faults import Faults
from gateway.call.flood import Floods
from gateway.call.hearing import Hearing
from gateway.call.mouth import Mouth
from gateway.call.saying import FixedLineBook, Saying
from gateway.call.tasks import Tasks
from gateway.call.tool_runs import Toolbox, ToolRuns
from gateway.call.track import Track
from gateway.events import (
    AnswerTool,
    CallerAnswered,
    CallerGone,
    CallerKey,
    CallerTyped,
    CallStarted,
    CancelReply,
    CancelTool,
    ChooseProfile,
    Disregard,
    Draft,
    DropDraft,
    Duck,
    EndAsked,
    EndUtterance,
    Flush,
    HangUp,
    Hold,
    Inform,
    KeepFloor,
    Listen,
    PageTold,
    Play,
    Record,
    Respond,
    Resume,
    RunTool,
    SendKeys,
    Speak,
    SwitchBackend,
    TimePassed,
    Transfer,
    TransferAsked,
    TransferEnded,
    Truncate,
)
from gateway.log_events import LogEvent
from gateway.plumbing.fence import is_stop
from gateway.ports import Backend, BackendStart, Leg, LineEvent
from media.frame import AudioFrame

GONE_SECONDS = 5.0
"""How long a line may take to report a hang-up that was asked for."""

LOOK_SECONDS = 0.1
"""How often a call in which nothing happens is looked at. Nearly all calls are such a call nearly
all the time, and what is not touched need not be fetched into the processor's cache."""

WRITES_SECONDS = 15.0
"""How long a write that is under way is waited for after the caller has gone."""

TOO_MANY = "as many calls were placed in this hour as may be (limits.placed_per_hour)"

log = structlog.get_logger("call")


class CallLog(Protocol):
    """Where the call's story is written."""

    def write(self, event: LogEvent) -> None:
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
        may_place: Callable[[], bool] = lambda: True,
        course: Course | None = None,
    ) -> None:
        """`may_place` counts one more call that this machine places.

        Without a `course` the time is the running loop's, and nobody watches.
        """
        state = conversation.state
        self.leg = leg
        self.conversation = conversation
        self._hearing = hearing
        self._stream = stream
        self._log = call_log
        self._track = track
        self._may_place = may_place
        self._course = course
        self._now = loop_time if course is None else course.now
        self._tasks = Tasks(WRITES_SECONDS)
        self._answering = Answering(
            backends,
            lambda: start(conversation),
            self.post,
            keeps=bool(state.settings.fallbacks),
        )
        self._farewell = Farewell(leg, lines, call_log.write)
        self._saying = Saying(lines, leg.info.rate, self._tasks, self.post, self._record)
        self._mouth = Mouth(leg, stream, hearing, state.speech, track, self.post)
        self._tools = ToolRuns(toolbox, call_log.write, self.post)
        self._floods = Floods()
        self._inbox: deque[Event] = deque()
        self._deadline: float | None = None
        "when the conversation wants to be told that time has passed"
        self._look_at = 0.0
        "while the agent is silent, nothing needs to be looked at before this time"
        self._over = asyncio.Event()

    # --- what the line calls -----------------------------------------------------------------

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's next frame."""
        if self._over.is_set() or self._farewell.begun:
            return
        try:
            for placed in self._stream.push(frame, self._now()):
                self._take(placed)
        except BaseException:  # fence: one broken call must not touch the line, nor its other calls
            self._broke()

    def notice(self, event: LineEvent) -> None:
        """Take anything else that happened on the leg."""
        now = self._now()
        if self._farewell.begun:
            if isinstance(event, CallerGone) and not self._over.is_set():
                self._leave(event.reason)
            return
        match event:
            case CallerKey(key=key):
                if not self._floods.takes("keys", now):
                    return
                self._hearing.key(key)
            case CallerTyped() | CallerAnswered() | PageTold():
                if not self._floods.takes("texts", now):
                    return
            case CallerGone() if not self._over.is_set():
                self._mouth.hung_up(now)
            case _:
                pass
        self.post(event)

    # --- what the pacer calls ----------------------------------------------------------------

    def send_due(self, now: float) -> None:
        """Put on the wire what is due."""
        if self._mouth.silent or self._over.is_set():
            return
        if self._course is not None:
            self._course.sending(now)
        try:
            self._mouth.send(now)
        except BaseException:  # fence: one broken call must not stop the clock of the others
            self._broke()

    def tick(self, now: float) -> None:
        """Hear silence where nothing came, notice what was heard and what was waited for."""
        if (self._mouth.silent and now < self._look_at) or self._over.is_set():
            return
        if self._course is not None:
            self._course.ticking(now)
        try:
            self._tick(now)
        except BaseException:  # fence: one broken call must not stop the clock of the others
            self._broke()

    def _tick(self, now: float) -> None:
        if self._farewell.begun:
            if self._farewell.over(now):
                self._leave()
            return
        if self.leg.clocked:
            self.leg.poll(now)
        silence = self._stream.idle(now)
        if silence is not None:
            self._take(silence)
        self._mouth.tick(now)
        if self._floods.going_on:
            self._tell_floods(now)
        if self._deadline is not None and now >= self._deadline:
            self.post(TimePassed())
        self._look_at = min(now + LOOK_SECONDS, self._stream.silent_at)
        if self._deadline is not None:
            self._look_at = min(self._look_at, self._deadline)

    # --- the inbox and the fence -----------------------------------------------------------------

    def post(self, event: Event) -> None:
        """Take an event: what it leads to is done before this returns, in order."""
        if self._over.is_set() or self._farewell.begun:
            return
        if self._course is not None:
            self._course.posted(event)
        self._inbox.append(event)
        if len(self._inbox) > 1:
            return  # one is being handled: this one follows it
        try:
            while self._inbox:
                one = self._inbox[0]
                if isinstance(one, CallerGone):
                    self._tell_floods(math.inf)
                for effect in self.conversation.handle(one, self._now()):
                    self._perform(effect)
                if isinstance(one, CallerGone):
                    self._over.set()
                self._inbox.popleft()
            self._deadline = self.conversation.deadline
            self._look_at = 0.0
        except BaseException:  # fence: who posts is not to blame, and may be another call
            self._inbox.clear()
            self._broke()

    async def run(self) -> None:
        """Run the call until the leg is down and everything under way is done with."""
        try:
            async with asyncio.TaskGroup() as group:
                self._tasks.group = group
                answering = self._answering
                self._hearing.begin(
                    group,
                    self.post,
                    answering.words,
                    answering.done,
                    Faults(self._record, self._broke),
                )
                self.conversation.served_by(answering.begin(group))
                recording = self._track.name if self._track is not None else None
                self.post(CallStarted(recording))
                self.leg.attach(self)
                await self._over.wait()
                answering.close()
                await self._tasks.wind_up()
        except BaseException as raised:  # fence: one broken call must not touch the others
            if is_stop(raised):
                raise
            self._broke()
            await self._over.wait()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        """Give back what the call has, whichever part of it refuses."""
        for part in (self._hearing, self._track):
            try:
                if part is not None:
                    part.close()
            except BaseException:  # fence: this ends a task of the gateway's own group
                log.exception("call_not_closed", call_id=self.leg.info.call_id)

    def _broke(self) -> None:
        """End a call that we broke ourselves, with a word where that can still be said."""
        log.exception("call_broke", call_id=self.leg.info.call_id)
        if self._over.is_set():
            return
        if self._farewell.begun:  # again: what speaks is broken, too
            self._leave()
            return
        self._look_at = 0.0
        said = self._farewell.begin(self.conversation.state.settings.lines.draining, self._now())
        self._answering.close()
        if not said:
            self._leave()

    def _leave(self, gone: str = "") -> None:
        """End a broken call for good."""
        self._over.set()
        self._farewell.end(self._now(), gone=gone)

    def end(self, event: EndAsked | TransferAsked) -> None:
        """End the call from outside (drain, operator)."""
        if self._course is not None:
            self._course.asked(event)
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
                self._answering.perform(effect)
            case Record():
                self._record(effect)
            case Play() | EndUtterance() | Duck() | Hold() | Resume() | Flush():
                self._mouth.perform(effect, self._now())
            case Speak(utterance=utterance, text=text):
                self._saying.say(utterance, text)
            case RunTool():
                self._tasks.spawn(self._tools.run(effect), key=effect.ask, kind="tool")
            case CancelTool(ask=ask):
                self._tasks.cancel(ask)
            case ChooseProfile() | KeepFloor():
                self._hearing.perform(effect)
            case SendKeys(keys=keys):
                self.leg.send_keys(keys)
            case Transfer(target=target, summary=summary):
                if self._may_place():
                    self.leg.transfer(target, summary)
                else:
                    log.warning("transfer_refused", call_id=self.leg.info.call_id, reason=TOO_MANY)
                    self.post(TransferEnded(False, TOO_MANY))
            case HangUp(reason=reason):
                self.leg.hang_up(reason)
                self._tasks.spawn(self._gone_for_sure(reason), key="gone", kind="line")
            case SwitchBackend(name=name, start=start):
                self.conversation.served_by(self._answering.open(name, start))
            case _:
                assert_never(effect)

    def _record(self, record: Record) -> None:
        self._log.write(record.event)
        self._farewell.note(record.event, self._now())
        self._mouth.show(record)

    async def _gone_for_sure(self, reason: str) -> None:
        await asyncio.sleep(GONE_SECONDS)
        self.post(CallerGone(reason))

    def _take(self, frame: AudioFrame) -> None:
        if self._track is not None:
            self._track.came(frame)
        self._hearing.feed(frame)
        self._answering.hear(frame)

    def _tell_floods(self, now: float) -> None:
        for told in self._floods.told(now):
            self._log.write(told)
