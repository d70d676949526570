"""An agent of few words, on the real Twilio line: greets, answers after a while, can be cut in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gateway.events import CallerGone, CallerKey
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import Free, Leg, LineEvent, Refusal, no_place
from media.frame import AudioFrame
from media.level import level
from media.playout import Position


def tone(seconds: float, hertz: int = 440) -> bytes:
    """Return a tone at 8 kHz, loud from its first sample."""
    time = np.arange(round(seconds * 8000)) / 8000
    return np.rint(8000 * np.cos(2 * np.pi * hertz * time)).astype("<i2").tobytes()


@dataclass
class Manners:
    """How the agent behaves."""

    greeting: float = 1.0
    "seconds of it; 0: none"
    patience: float = 0.4
    "silence after which the caller is done"
    reply: float = 1.5
    stops_after: float | None = 0.2
    "seconds of the caller's voice that stop it; None: nothing does"
    holds_after: float | None = None
    "seconds after which it only pauses, until the caller is done"
    hangs_up_after_turns: int | None = None


@dataclass
class Agent:
    """Answers calls; keeps what it was told and what it knows was heard."""

    manners: Manners = field(default_factory=Manners)
    refusal: Refusal | None = None
    calls: list[OneCall] = field(default_factory=list)

    def admit(self, agent: str) -> Refusal | None:
        return self.refusal

    def take(self) -> Free:
        return no_place

    def knows(self, agent: str) -> bool:
        return agent != "nobody"

    def missed(self, call: CallRefusedLogged | CallFailedLogged) -> None:
        pass

    def begin(self, leg: Leg) -> None:
        call = OneCall(leg, self.manners)
        self.calls.append(call)
        leg.attach(call)
        call.tick()


class OneCall:
    """One call of the agent's, paced every 20 ms."""

    def __init__(self, leg: Any, manners: Manners) -> None:
        self.leg = leg
        self.manners = manners
        self.frames: list[AudioFrame] = []
        self.events: list[LineEvent] = []
        self.cut: list[Position] = []
        self.turns = 0
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()
        self._ticks = 0
        self._utterance = 0
        self._voiced = 0.0
        self._silent = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._held = False
        if manners.greeting:
            self.say(manners.greeting)

    def say(self, seconds: float) -> None:
        self._utterance += 1
        self.leg.playout.push(self._utterance, self.leg.playout.form.encode(tone(seconds)))
        self.leg.playout.end(self._utterance)

    def hear(self, frame: AudioFrame) -> None:
        self.frames.append(frame)
        if level(frame.pcm) > -50:
            self._voiced += frame.seconds
            self._silent = 0.0
            self._interrupted()
        else:
            self._silent += frame.seconds
            if self._voiced and self._silent >= self.manners.patience - 1e-9:
                self._answer()

    def notice(self, event: LineEvent) -> None:
        self.events.append(event)
        if isinstance(event, CallerGone) and self._timer is not None:
            self._timer.cancel()
        if isinstance(event, CallerKey):
            self.say(0.3)

    def tick(self) -> None:
        now = self._loop.time()
        self.leg.send(self.leg.playout.pull(now))
        self.leg.playout.poll(now)
        self._ticks += 1
        self._timer = self._loop.call_at(self._start + self._ticks * 0.02, self.tick)

    def _interrupted(self) -> None:
        playout = self.leg.playout
        now = self._loop.time()
        sounding = bool(playout.waiting)
        stops, holds = self.manners.stops_after, self.manners.holds_after
        if sounding and stops is not None and self._voiced >= stops - 1e-9:
            self.cut += playout.flush(now)
            self.leg.clear()
        elif sounding and holds is not None and self._voiced >= holds - 1e-9:
            playout.hold("caller")
            self._held = True

    def _answer(self) -> None:
        self._voiced = 0.0
        if self._held:
            self._held = False
            self.leg.playout.resume("caller")
            return
        self.turns += 1
        if self.turns == self.manners.hangs_up_after_turns:
            self.leg.hang_up("goodbye")
        else:
            self.say(self.manners.reply)
