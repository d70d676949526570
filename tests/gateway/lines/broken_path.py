"""An agent that says one long sentence over a path that breaks, and what of it an ear really got.

The sentence is a tone that rises all the time, so that any 20 ms of a recording tell their place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from random import Random

import numpy as np
import numpy.typing as npt

from gateway.events import CallHeld, CallReleased
from gateway.ports import Leg, LineEvent
from media.playout import Position
from tests.support.relay import Gap
from tests.support.sip_answers import Parties, Party

UTTERANCE = 7
SECONDS = 6.0
LOW, RISE = 500.0, 400.0
"""Hertz at the start, and by how many more after each second."""

NEAR = 0.06
"""Seconds by which a position may be off beside its error: an ear does not notice them."""


def rising(rate: int, seconds: float = SECONDS) -> bytes:
    """Make the sentence."""
    at = np.arange(round(seconds * rate)) / rate
    phase = 2 * np.pi * (LOW * at + RISE * at * at / 2)
    return (9000 * np.sin(phase)).astype("<i2").tobytes()


def place(pcm: npt.NDArray[np.int16], rate: int) -> float | None:
    """Return where in the sentence the middle of some sound lies, in seconds; None: unreadable."""
    size = 8192
    power = np.abs(np.fft.rfft(pcm * np.hanning(len(pcm)), size)) ** 2
    peak = int(power.argmax())
    wide = 3 * size // len(pcm)
    if power[max(0, peak - wide) : peak + wide].sum() < 0.9 * power.sum():
        return None  # what a decoder makes up, or the edge of it
    return float((peak * rate / size - LOW) / RISE)


@dataclass
class Claim:
    """What the ledger said at a moment."""

    now: float
    heard: float
    error: float


@dataclass(eq=False)
class Speaker(Party):
    """Says the sentence, and does with a line that nobody is at what a call does."""

    claims: list[Claim] = field(default_factory=list)
    is_cut: bool = False

    def begin(self) -> None:
        """Have the sentence wait, and listen."""
        playout = self.leg.playout
        playout.push(UTTERANCE, playout.form.encode(rising(playout.form.rate)))
        playout.end(UTTERANCE)
        super().begin()

    def notice(self, event: LineEvent) -> None:
        """Take what happened."""
        super().notice(event)
        playout = self.leg.playout
        match event:
            case CallHeld(since=since):
                playout.hold("line")
                playout.take_back(since)
            case CallReleased():
                playout.resume("line")
            case _:
                pass

    def tick(self, now: float) -> None:
        """Do what a call does every 20 ms, and note what the ledger says."""
        super().tick(now)
        if not self.is_cut:
            self.note(self.leg.playout.heard(UTTERANCE, now), now)

    def note(self, position: Position, now: float) -> None:
        """Note a claim."""
        rate = self.leg.info.rate
        self.claims.append(Claim(now, position.heard / rate, position.error / rate))

    def cut(self) -> None:
        """Let the caller cut in: the ledger says what will have been heard when that is known."""
        for position in self.leg.playout.flush(asyncio.get_running_loop().time()):
            self.note(position, inf)
        self.leg.clear()
        self.is_cut = True


class Speakers(Parties):
    """Has every call hear the sentence."""

    def begin(self, leg: Leg) -> None:
        """Take the call."""
        party = Speaker(leg, echo=False)
        self.all.append(party)
        party.begin()
        self.pacer.add(party)
        self.arrived.set()

    async def next(self) -> Speaker:
        """Wait for the next call."""
        speaker = await super().next()
        assert isinstance(speaker, Speaker)
        return speaker


class Recording:
    """What an ear heard: pieces of sound, each with the moment at which it began."""

    def __init__(self, pieces: Iterable[tuple[float, bytes]], rate: int) -> None:
        """`pieces` are 16-bit samples; those without a gap between them are one sound."""
        sounds: list[tuple[float, bytearray]] = []
        for when, pcm in pieces:
            if sounds and abs(sounds[-1][0] + len(sounds[-1][1]) / 2 / rate - when) < 0.001:
                sounds[-1][1].extend(pcm)
            else:
                sounds.append((when, bytearray(pcm)))
        size = rate // 50
        self.places: list[tuple[float, float]] = []
        "when 20 ms began to be heard, and where in the sentence they begin"
        self.blurred: list[float] = []
        "when 20 ms began that cannot be read: a codec makes up what it missed, or finds back"
        for when, sound in sounds:
            samples = np.frombuffer(bytes(sound), "<i2")
            for start in range(0, len(samples), size):
                self._read(samples[start : start + size], when + start / rate, rate)
        # One that fits neither of its neighbours was read wrong.
        read = self.places
        self.places = [
            one
            for before, one, after in zip(read[:1] + read, read, read[1:] + read[-1:], strict=False)
            if min(abs(one[1] - before[1]), abs(one[1] - after[1])) < 0.05
        ]
        self.blurred += [when for when, _ in set(read) - set(self.places)]

    def _read(self, pcm: npt.NDArray[np.int16], when: float, rate: int) -> None:
        if len(pcm) < 64 or np.abs(pcm).max() < 50:
            return  # silence
        found = place(pcm, rate)
        if found is None:
            self.blurred.append(when)
        else:
            self.places.append((when, found - 0.01))

    def is_blurred(self, now: float) -> bool:
        """Return whether nobody can say what is heard at a moment."""
        return any(when <= now < when + 0.04 for when in self.blurred)

    def heard(self, now: float) -> float:
        """Return how much of the sentence was heard by a moment, in seconds.

        A packet or five that are missing in its course are concealed, and the course goes on.
        """
        reached = 0.0
        for (begins, where), (follows, there) in pairwise([*self.places, (inf, inf)]):
            if begins > now:
                break
            goes_on = follows - begins < 0.12 and abs((there - where) - (follows - begins)) < 0.03
            lasts = max(0.02, follows - begins) if goes_on else 0.02
            reached = max(reached, where + min(lasts, now - begins))
        return min(reached, SECONDS)

    def holes(self) -> list[tuple[float, float]]:
        """Return the parts of the sentence, of what was begun, that nobody heard."""
        reached, found = 0.0, []
        for where in sorted(where for _, where in self.places):
            if where > reached + 0.045:
                found.append((reached, where))
            reached = max(reached, where + 0.02)
        return found


def judge(claims: Iterable[Claim], ear: Recording, reading: float = 0.02) -> None:
    """Hold every claim against the ear, whose recording is read within so many seconds."""
    wrong = [
        (claim, truth)
        for claim in claims
        if not ear.is_blurred(claim.now)
        and abs(claim.heard - (truth := ear.heard(claim.now))) > max(claim.error + reading, NEAR)
    ]
    assert not wrong, (len(wrong), wrong[0], wrong[-1])


def gaps(random: Random, longest: float, *, both: bool = False) -> tuple[Gap, ...]:
    """Draw when a path breaks, and which way."""
    ways = (("up", "down"),) if both else (("up",), ("down",), ("up", "down"))
    return tuple(
        Gap(begins, begins + random.uniform(0.1, longest), random.choice(ways))  # type: ignore[arg-type]
        for begins in (random.uniform(0.3, SECONDS) for _ in range(random.randint(1, 2)))
    )
