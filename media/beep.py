"""Finds beeps in the sound of a telephone: one pure, steady tone, as machines give it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from media.frame import AudioFrame

SHORTEST = 0.13
"""Seconds of steady frames: the shortest of common machines beeps for 0.2 s, in frames that it may
not fill; in recorded speech, sung holding music included, nothing is as steady for over 0.1 s."""
LONGEST = 4.0
"""Seconds; what goes on for longer is a fax, or a line out of order."""
HERTZ = (350.0, 2600.0)
PURITY = 0.92
"""Share of a frame's power in one tone: voices have less, but in a few long vowels."""
STEADY_HERTZ = 15.0
STEADY_DB = 4.0
"""How far a frame may be from the one before; voices glide and swell."""
LOUD_DB = -42.0
"""Level of a frame that can be a beep; noise on a telephone line is below -55."""
BINS = 2
"""A tone under a Hann window lies in its bin and two on either side."""


@dataclass(frozen=True, slots=True)
class _Tone:
    hertz: float
    decibels: float


class BeepDetector:
    """Listens to one stream, frame by frame; decides nothing about who beeps."""

    def __init__(self) -> None:
        self._tone: _Tone | None = None
        self._seconds = 0.0
        "length of what may be a beep"

    def feed(self, frame: AudioFrame) -> bool:
        """Take 20 ms; say whether a beep has just ended."""
        tone = _tone(frame.samples().astype(np.float32), frame.rate)
        before, self._tone = self._tone, tone
        length = (frame.end - frame.start) / frame.rate
        if tone is not None and before is not None and _steady(before, tone):
            self._seconds += length
            return False
        ended = SHORTEST <= self._seconds <= LONGEST
        self._seconds = 0.0 if tone is None else length
        return ended


def _steady(before: _Tone, tone: _Tone) -> bool:
    near = abs(tone.hertz - before.hertz) <= STEADY_HERTZ
    return near and abs(tone.decibels - before.decibels) <= STEADY_DB


def _tone(samples: npt.NDArray[np.float32], rate: int) -> _Tone | None:
    """Return a frame's tone, None where it is anything else."""
    loud = float(np.dot(samples, samples)) / max(1, samples.size) / 32768**2
    decibels = 10 * float(np.log10(loud + 1e-10))
    if decibels < LOUD_DB:
        return None
    power = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    peak = int(np.argmax(power))
    if not 0 < peak < len(power) - 1:
        return None
    near = float(power[max(0, peak - BINS) : peak + BINS + 1].sum())
    # Between the bins, by the parabola through the logarithms of three.
    low, middle, high = np.log(power[peak - 1 : peak + 2] + 1e-9)
    bend = 2 * (low - 2 * middle + high)
    hertz = (peak + (float((low - high) / bend) if bend else 0.0)) * rate / len(samples)
    if near < PURITY * float(power.sum()) or not HERTZ[0] <= hertz <= HERTZ[1]:
        return None
    return _Tone(hertz, decibels)
