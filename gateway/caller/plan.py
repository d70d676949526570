"""What a caller does when: a pure machine that listens to the agent and decides when to speak.

All times are seconds since the call was answered.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import assert_never

from gateway.caller.sound import Recording

KEY_SECONDS = 0.25
"""Between two keys of one `--key`: a quick thumb."""


@dataclass(frozen=True, slots=True)
class Say:
    """Speak once the agent has fallen silent, then wait for the reply."""

    sound: Recording


@dataclass(frozen=True, slots=True)
class CutIn:
    """Speak a while after the next reply has begun, whether or not the agent is still talking."""

    sound: Recording
    after: float
    "seconds after the reply's first audible sample"


Step = Say | CutIn


@dataclass(frozen=True, slots=True)
class Keys:
    """Press keys."""

    digits: str
    at: float
    "seconds after the call was answered"


@dataclass(frozen=True, slots=True)
class CallPlan:
    """All that one caller means to do."""

    steps: tuple[Step, ...] = ()
    keys: tuple[Keys, ...] = ()
    hang_up_after: float | None = None
    "None: once the last step was answered and the agent has been silent for `linger`"
    silence: float = 0.7
    "silence of the agent after which it is the caller's turn; pauses in speech are shorter"
    greeting: float = 5.0
    "how long the agent's first words are waited for"
    reply: float = 15.0
    "how long a reply is waited for"
    linger: float = 2.0
    "silence at the end, in which the agent may hang up itself"
    limit: float = 600.0
    "no call lasts longer"


# --- what the machine is told ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentBegan:
    """The agent is heard after it was not."""

    at: float


@dataclass(frozen=True, slots=True)
class AgentSilent:
    """The agent is not heard any more; known a moment after its last audible sample."""

    at: float
    "of the last audible sample"


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The deadline has come."""


PlanEvent = AgentBegan | AgentSilent | TimePassed


# --- what it wants -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Play:
    """Speak, from now on."""

    step: Step


@dataclass(frozen=True, slots=True)
class Press:
    """Press a key."""

    key: str


@dataclass(frozen=True, slots=True)
class HangUp:
    """End the call."""

    reason: str


Action = Play | Press | HangUp


class CallerPlan:
    """Decides a caller's next action; never knows how it is carried out."""

    def __init__(self, plan: CallPlan) -> None:
        """Begin at 0.0, when the call is answered."""
        self._plan = plan
        self._steps = deque(plan.steps)
        self._presses = deque(
            sorted(
                (keys.at + n * KEY_SECONDS, key)
                for keys in plan.keys
                for n, key in enumerate(keys.digits)
            )
        )
        self._sounding = False
        self._fell = 0.0
        "when the agent was last heard"
        self._said: float | None = None
        "when the caller's latest speech ends or ended"
        self._free = 0.0
        "when the latest recording is played to its end"
        self._reply: float | None = None
        "when the agent's answer to the latest speech (at first: its greeting) began"
        self._over = False

    def handle(self, event: PlanEvent, now: float) -> list[Action]:
        """Take an event and give what is to be done now."""
        match event:
            case AgentBegan(at=at):
                self._sounding = True
                if self._reply is None and (self._said is None or at >= self._said):
                    self._reply = at
            case AgentSilent(at=at):
                # An agent that was talking when the caller had finished has answered, if not well.
                if self._sounding and self._reply is None and at >= (self._said or 0.0):
                    self._reply = self._said
                self._sounding = False
                self._fell = at
            case TimePassed():
                pass
            case _:
                assert_never(event)
        actions: list[Action] = []
        while not self._over and (due := self._next()) is not None and due[0] <= now:
            actions.append(due[1])
            self._do(due[1], now)
        return actions

    @property
    def deadline(self) -> float | None:
        """When something is to be done if nothing is heard until then."""
        due = None if self._over else self._next()
        return None if due is None else due[0]

    def _do(self, action: Action, now: float) -> None:
        match action:
            case Play(step=step):
                self._steps.popleft()
                sound = step.sound
                self._said = now + sound.speech_end / sound.rate
                self._free = now + sound.seconds
                self._reply = None
            case Press():
                self._presses.popleft()
            case HangUp():
                self._over = True
            case _:
                assert_never(action)

    def _next(self) -> tuple[float, Action] | None:
        """Return the earliest of what is foreseen."""
        foreseen: list[tuple[float, Action]] = [(self._plan.limit, HangUp("limit"))]
        if self._presses:
            foreseen.append((self._presses[0][0], Press(self._presses[0][1])))
        if self._plan.hang_up_after is not None:
            foreseen.append((self._plan.hang_up_after, HangUp("done")))
        if self._steps:
            step = self._steps[0]
            at = self._turn(self._plan.silence) if isinstance(step, Say) else self._cut(step)
            if at is not None:
                foreseen.append((at, Play(step)))
        elif self._plan.hang_up_after is None:
            at = self._turn(self._plan.linger)
            if at is not None:
                foreseen.append((max(at, self._last_press()), HangUp("done")))
        return min(foreseen, key=lambda each: each[0])

    def _turn(self, silence: float) -> float | None:
        """Return when it is the caller's turn; None while the agent talks."""
        if self._sounding:
            return None
        quiet = max(self._fell + silence, self._free)
        return quiet if self._reply is not None else max(quiet, self._patience())

    def _cut(self, step: CutIn) -> float:
        if self._reply is not None:
            return max(self._reply + step.after, self._free)
        return max(self._patience(), self._free)

    def _patience(self) -> float:
        """Return until when an answer, or at first the greeting, is waited for."""
        return self._plan.greeting if self._said is None else self._said + self._plan.reply

    def _last_press(self) -> float:
        return self._presses[-1][0] + KEY_SECONDS if self._presses else 0.0
