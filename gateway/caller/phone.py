"""One caller's telephone: every 20 ms it hears what is due, decides, and speaks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never

from gateway.caller.ear import Ear
from gateway.caller.measure import Said, Tape
from gateway.caller.mouth import Mouth
from gateway.caller.network import NetworkSettings
from gateway.caller.plan import (
    Action,
    AgentBegan,
    CallerPlan,
    CallPlan,
    CutIn,
    HangUp,
    PlanEvent,
    Play,
    Press,
    Step,
    TimePassed,
)
from gateway.caller.playclock import PlayClock
from gateway.caller.schedule import Schedule
from media.codec import WireForm

QUEUE_SECONDS = 600.0
"""What Twilio queues; more is thrown away (its warning 31931)."""

EndedBy = Literal["caller", "agent", "failure"]


@dataclass(frozen=True, slots=True)
class CallerEvent:
    """Something that just happened at the far end, for whoever watches."""

    at: float
    "seconds since the call was answered"
    kind: Literal["answered", "began", "fell", "said", "cut_in", "key", "cleared", "ended"]
    detail: str = ""


class FarEnd(Protocol):
    """The caller's end of a line: carries sound, keys and the end; all return at once."""

    def send(self, payload: bytes, start: int) -> None:
        """Send a frame of the caller's sound, which begins at position `start`."""

    def press(self, key: str) -> None:
        """Send a key."""

    def passed(self, marks: Sequence[str]) -> None:
        """Tell the gateway that these marks were passed, or cleared, where the line has marks."""

    def hang_up(self) -> None:
        """End the call; `Phone.ended` follows."""


class CallerLine(Protocol):
    """How a caller gets at the gateway; one per kind of line."""

    @property
    def form(self) -> WireForm:
        """What the line carries."""

    def new_id(self) -> str:
        """Draw a call's id, such as the line gives."""

    async def call(self, call_id: str, phone: Phone) -> None:
        """Place one call and return when it is over; `phone` is told how it went."""


class Phone:
    """Carries out a plan on a line, and keeps the tape; knows no protocol.

    Its clock begins when the call is answered.
    A frame leaves when its last sample was spoken, as from any telephone.
    """

    def __init__(
        self,
        plan: CallPlan,
        form: WireForm,
        network: NetworkSettings,
        watch: Callable[[CallerEvent], None] | None = None,
    ) -> None:
        self.tape = Tape(form)
        self.problems: dict[str, None] = {}
        "what the far side did against its protocol, each kind once"
        self.answered = False
        "something of the agent's has arrived"
        self.known_as = ""
        "how the gateway names the call in its log, where it says so"
        self.outcome: tuple[EndedBy, str] | None = None
        self.over = asyncio.Event()
        self.schedule = Schedule()
        self.mouth = Mouth(form, network)
        self._watch = watch
        self._clock = PlayClock(form.bytes_per_sample)
        self._ear = Ear(form.rate)
        self._plan = CallerPlan(plan)
        self._far: FarEnd | None = None
        self._leaving = ""
        "why the caller hung up, once it has"

    # --- what the line calls ---------------------------------------------------------------

    def begin(self, far: FarEnd) -> None:
        """Take that the call is answered."""
        self._far = far
        self.schedule.start(self._tick)
        self._tell("answered")

    def hear(self, payload: bytes) -> None:
        """Take sound that has arrived."""
        self.answered = True
        at = self._position()
        if self._clock.ahead(at) > QUEUE_SECONDS * self.tape.form.rate:
            self.complain("31931: more than ten minutes of sound are queued")
            return
        samples = len(payload) // self.tape.form.bytes_per_sample
        self.tape.arrivals.append((self.now, samples))
        self._clock.push(payload, at)

    def mark(self, name: str) -> None:
        """Take a mark that has arrived."""
        self.answered = True
        self.tape.marks.append((self._clock.mark(name, self._position()), name))
        self._listen()  # behind nothing it is passed at once

    def clear(self) -> None:
        """Forget what has not been heard."""
        self.answered = True
        self._listen()
        at = self._position()
        marks = self._clock.clear(at)
        self.tape.clears.append(at)
        self._tell("cleared")
        if marks and self._far is not None:
            self._far.passed(marks)

    def complain(self, problem: str) -> None:
        """Note what the far side did wrong."""
        if len(self.problems) < 20:
            self.problems[problem] = None

    def end(self, by: EndedBy, reason: str) -> None:
        """Take that the call is over, or never came to be."""
        if self.outcome is not None:
            return
        self.schedule.stop()
        if self._far is not None:
            self._listen()
            self.tape.end = self._position()
        if self._leaving:
            by, reason = "caller", self._leaving
        self.outcome = by, reason
        self._tell("ended", reason)
        self.over.set()

    @property
    def now(self) -> float:
        """Seconds since the call was answered; 0 before."""
        return self.schedule.now

    # --- 20 ms at a time -------------------------------------------------------------------

    def _tick(self) -> None:
        now = self.now
        self._listen()
        self._decide(TimePassed(), now)
        # The frame that is complete now.
        self.mouth.pass_time(self._frame_start(), now)
        self._send_due()
        if self.mouth.deadline is not None:
            self.schedule.call_at(self.mouth.deadline, self._send_due)

    def _frame_start(self) -> int:
        return (self.schedule.ticks - 1) * self.mouth.frame

    def _send_due(self) -> None:
        # A timer may be early by the clock's resolution.
        pieces = self.mouth.due(self.now + 1e-6)
        if self._far is None or self._leaving or self.outcome is not None:
            return
        for piece in pieces:
            self._far.send(piece.payload, piece.start)

    def _position(self) -> int:
        return round(self.now * self.tape.form.rate)

    def _listen(self) -> None:
        """Hear what is due by now."""
        to = self._position()
        pieces, marks = self._clock.advance(to)
        for piece in pieces:
            self.tape.heard.append(piece)
            self._told(self._ear.hear(self.tape.form.decode(piece.payload), piece.start))
        self._told(self._ear.pass_time(to))
        if marks and self._far is not None:
            self._far.passed(marks)

    def _told(self, event: PlanEvent | None) -> None:
        if event is None or isinstance(event, TimePassed):
            return
        self._tell("began" if isinstance(event, AgentBegan) else "fell", at=event.at)
        self._decide(event, self.now)

    def _decide(self, event: PlanEvent, now: float) -> None:
        if self._leaving or self.outcome is not None:
            return
        for action in self._plan.handle(event, now):
            self._do(action)

    def _do(self, action: Action) -> None:
        match action:
            case Play(step=step):
                self._begin_speech(step)
            case Press(key=key):
                self._tell("key", key)
                if self._far is not None:
                    self._far.press(key)
            case HangUp(reason=reason):
                self._leaving = reason
                if self._far is not None:
                    self._far.hang_up()
            case _:
                assert_never(action)

    def _begin_speech(self, step: Step) -> None:
        sound = step.sound
        start = self._frame_start()
        self.mouth.speak(sound.pcm)
        cuts = isinstance(step, CutIn)
        self.tape.said.append(
            Said(sound.name, cuts, start + sound.speech_start, start + sound.speech_end)
        )
        self._tell("cut_in" if cuts else "said", sound.name)

    def _tell(
        self,
        kind: Literal["answered", "began", "fell", "said", "cut_in", "key", "cleared", "ended"],
        detail: str = "",
        at: float | None = None,
    ) -> None:
        if self._watch is not None:
            self._watch(CallerEvent(self.now if at is None else at, kind, detail))
