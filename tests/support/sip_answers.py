"""Answers for tests of lines: they echo, play a tone or keep silent, and note what they heard."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import numpy as np

from gateway.call.pacer import Pacer
from gateway.events import CallerGone, CallerKey, TransferEnded
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import Free, Leg, LineEvent, Refusal, no_place
from media.frame import AudioFrame


def tone(hertz: float, seconds: float, rate: int = 8000, level: float = 0.25) -> bytes:
    """Make a sine as 16-bit samples."""
    at = np.arange(round(seconds * rate)) / rate
    return (level * 32767 * np.sin(2 * np.pi * hertz * at)).astype("<i2").tobytes()


@dataclass(eq=False)
class Party:
    """One call that is answered by a test; paced like a real one."""

    leg: Leg
    echo: bool = True
    sound: bytes = b""
    "played in a loop instead of the echo"
    heard: bytearray = field(default_factory=bytearray)
    keys: str = ""
    events: list[LineEvent] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    happened: asyncio.Event = field(default_factory=asyncio.Event)
    frames: list[AudioFrame] = field(default_factory=list)

    def begin(self) -> None:
        """Listen."""
        self.leg.attach(self)

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's next frame."""
        self.heard += frame.pcm
        if self.echo:
            playout = self.leg.playout
            playout.push(1, playout.form.encode(frame.pcm))

    def notice(self, event: LineEvent) -> None:
        """Take what happened."""
        self.events.append(event)
        self.happened.set()
        match event:
            case CallerKey(key):
                self.keys += key
            case CallerGone():
                self.gone.set()
            case _:
                pass

    def tick(self, now: float) -> None:
        """Do what a call does every 20 ms."""
        playout = self.leg.playout
        if self.sound and playout.waiting < self.leg.info.rate // 5:
            playout.push(1, playout.form.encode(self.sound))
        self.leg.send(playout.pull(now))
        self.leg.poll(now)
        playout.poll(now)

    @property
    def transfer(self) -> TransferEnded | None:
        """How a transfer ended."""
        return next((e for e in self.events if isinstance(e, TransferEnded)), None)


class Parties:
    """An `Answer` that takes every call, unless told otherwise."""

    def __init__(self, *, echo: bool = True, sound: bytes = b"") -> None:
        self.pacer = Pacer()
        self.refusal: Refusal | None = None
        self.all: list[Party] = []
        self.turned_away: list[CallRefusedLogged | CallFailedLogged] = []
        self.arrived = asyncio.Event()
        self._echo = echo
        self._sound = sound

    def admit(self, agent: str) -> Refusal | None:
        """Say yes, or what the test wants."""
        return self.refusal

    def take(self) -> Free:
        """Keep no place: there is room for all."""
        return no_place

    def knows(self, agent: str) -> bool:
        """Know every agent but one."""
        return agent != "nobody"

    def missed(self, call: CallRefusedLogged | CallFailedLogged) -> None:
        """Keep what was refused."""
        self.turned_away.append(call)

    def begin(self, leg: Leg) -> None:
        """Take the call."""
        party = Party(leg, self._echo and not self._sound, self._sound)
        self.all.append(party)
        party.begin()
        self.pacer.add(party)
        self.arrived.set()

    async def next(self) -> Party:
        """Wait for the next call."""
        await self.arrived.wait()
        self.arrived.clear()
        return self.all[-1]
