"""Who answered a call that we placed: a person, a machine, nobody; and when the machine beeps.

People say a word or two and wait; machines go on.
The figures are those that Asterisk's AMD ships with, which the trade has settled on: 2.5 s of
silence at first, three words, 1.5 s of greeting, 0.8 s of silence after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from media.frame import FRAME_SECONDS, AudioFrame

Signal = npt.NDArray[np.float32]

FIRST_SILENCE = 2.5
GREETING = 1.5
AFTER_GREETING = 0.8
MOST_WORDS = 3
SHORTEST_WORD = 0.1
BETWEEN_WORDS = 0.06
LONGEST = 6.0
"""Seconds after which no further evidence is waited for."""

VOICE_DB = -42.0
"""Level of a frame that holds a voice on a telephone; line noise is below -55."""

BEEP_SECONDS = 0.16
"""Shortest beep: the shortest of common machines is some 200 ms."""
BEEP_HERTZ = (350.0, 2600.0)
BEEP_PURITY = 0.85
"""Share of a frame's power in one tone: voices have less, even in long vowels."""
BEEP_WITHIN = 60.0
"""Seconds of a message after which no beep is waited for."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What was found out."""

    kind: Literal["person", "machine", "silence", "beep"]
    words: int = 0
    seconds: float = 0.0
    "of the greeting; for a beep, since the answer"


class MachineDetector:
    """Listens to one call from its answer on."""

    def __init__(self) -> None:
        self._at = 0.0
        "seconds heard"
        self._voice = 0.0
        "length of the present word"
        self._silence = 0.0
        "length of the present silence"
        self._words = 0
        self._greeting = 0.0
        self._verdict: Answered | None = None
        self._tone: tuple[float, float] | None = None
        "frequency and length of what may be a beep"

    @property
    def over(self) -> bool:
        """Whether nothing more is to be found out."""
        verdict = self._verdict
        if verdict is None:
            return False
        return verdict.kind != "machine" or self._at > BEEP_WITHIN

    def feed(self, frame: AudioFrame) -> Answered | None:
        """Take 20 ms, say what they tell."""
        if self.over:
            return None
        self._at += FRAME_SECONDS
        samples = frame.samples().astype(np.float32)
        loud = _decibels(samples) > VOICE_DB
        if self._verdict is not None:
            return self._await_beep(samples, frame.rate, loud)
        verdict = self._judge(loud)
        if verdict is not None:
            self._verdict = verdict
        return verdict

    def _judge(self, loud: bool) -> Answered | None:
        if loud:
            self._voice += FRAME_SECONDS
            self._silence = 0.0
            self._greeting += FRAME_SECONDS
            if abs(self._voice - SHORTEST_WORD) < FRAME_SECONDS / 2:
                self._words += 1
        else:
            self._silence += FRAME_SECONDS
            if self._silence >= BETWEEN_WORDS:
                self._voice = 0.0
        if self._words > MOST_WORDS or self._greeting > GREETING:
            return Answered("machine", self._words, self._greeting)
        if self._words and self._silence >= AFTER_GREETING:
            return Answered("person", self._words, self._greeting)
        if not self._words and self._at >= FIRST_SILENCE:
            return Answered("silence", 0, self._at)
        if self._at >= LONGEST:
            return Answered("person", self._words, self._greeting)
        return None

    def _await_beep(self, samples: Signal, rate: int, loud: bool) -> Answered | None:
        hertz = _tone(samples, rate) if loud else None
        if hertz is None:
            tone, self._tone = self._tone, None
            if tone is not None and tone[1] >= BEEP_SECONDS:
                at, self._at = self._at, BEEP_WITHIN + 1.0  # nothing more is waited for
                return Answered("beep", 0, at)
            return None
        if self._tone is not None and abs(hertz - self._tone[0]) < rate / len(samples):
            self._tone = (self._tone[0], self._tone[1] + FRAME_SECONDS)
        else:
            self._tone = (hertz, FRAME_SECONDS)
        return None


def _decibels(samples: Signal) -> float:
    power = float(np.dot(samples, samples)) / max(1, samples.size)
    return 10 * float(np.log10(power / 32768**2 + 1e-10))


def _tone(samples: Signal, rate: int) -> float | None:
    """Give the frequency of a pure tone, None for everything else."""
    power = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    peak = int(np.argmax(power))
    hertz = peak * rate / len(samples)
    if not BEEP_HERTZ[0] <= hertz <= BEEP_HERTZ[1]:
        return None
    near = float(power[max(0, peak - 2) : peak + 3].sum())
    return hertz if near >= BEEP_PURITY * float(power.sum()) else None
