"""One caller: what they say, when they cut in, and the telephone that they do it with."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.caller.network import NetworkSettings
from gateway.caller.phone import CallerEvent, CallerLine, Phone
from gateway.caller.plan import CallPlan, CutIn, Say, Step
from gateway.caller.sound import Recording

EARLIEST, LATEST = 0.6, 2.5
"""Seconds into an answer at which callers cut in."""

SHORTEST_TURN = 2.0
"""Seconds that a turn and its answer take at least, pauses included."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How callers talk."""

    sounds: Sequence[Recording]
    cut_ins: float = 0.2
    "share of turns that are spoken into the agent's answer"
    pause: float = 0.7
    "seconds of the agent's silence after which it is the caller's turn"
    patience: float = 5.0
    "seconds for which an answer is waited for"


def plan(habits: Habits, seconds: float, chance: random.Random) -> CallPlan:
    """Draw what a caller says in a call of so many seconds."""
    count = round(seconds / SHORTEST_TURN) + 2
    steps: list[Step] = []
    for n in range(count):
        sound = chance.choice(habits.sounds)
        if n and chance.random() < habits.cut_ins:
            steps.append(CutIn(sound, chance.uniform(EARLIEST, LATEST)))
        else:
            steps.append(Say(sound))
    return CallPlan(
        tuple(steps),
        hang_up_after=seconds,
        silence=habits.pause,
        greeting=habits.patience,
        reply=habits.patience,
    )


@dataclass(slots=True)
class HeldCall:
    """One call, while it is held and when it is over; times are of the loop's clock."""

    call_id: str
    asked: float
    phone: Phone
    answered: float | None = None
    ended: float | None = None
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop, repr=False)

    def see(self, event: CallerEvent) -> None:
        """Take note of what happens to the telephone."""
        match event.kind:
            case "answered":
                self.answered = self._loop.time()
            case "ended":
                self.ended = self._loop.time()
            case _:
                pass

    def seconds_within(self, start: float, end: float) -> float:
        """Return how much of the call lies within a time."""
        if self.answered is None:
            return 0.0
        until = end if self.ended is None else min(end, self.ended)
        return max(0.0, until - max(start, self.answered))


def begin(line: CallerLine, plan: CallPlan) -> HeldCall:
    """Take a telephone in one's hand; `CallerLine.call` does the rest."""
    phone: Phone
    call: HeldCall
    phone = Phone(plan, line.form, NetworkSettings(), lambda event: call.see(event))
    call = HeldCall(line.new_id(), asyncio.get_running_loop().time(), phone)
    return call
