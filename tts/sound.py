"""What a voice gives: sound at a line's rate, and when each written word is heard in it.

Also what makes sound fit for a telephone: no silence around it, one loudness, the line's rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from media.level import AUDIBLE_DB, levels
from media.resample import convert
from tts.normalise import Said

Floats = npt.NDArray[np.float32]

ACTIVE_DB = -20.0
"""Level of speech, pauses left out, in dBFS: telephone prompts are made so, a few dB above the -26
at which networks are planned (ITU-T P.56, G.111)."""

PAUSE_BELOW_DB = 20.0
"""What is that much softer than the loudest is a pause and does not count towards the level."""

PEAK = 10 ** (-1 / 20)
"""-1 dBFS, so that no filter further on clips."""

FAINT_DB = -60.0
"""Sound whose loudest moment is softer is none: the voice had nothing to say."""

LEAD_SECONDS = 0.01
"""Kept before the first audible sound: the breath of an `h` begins below that."""

TAIL_SECONDS = 0.03
"""Kept after the last audible sound: vowels fade out."""

FADE_SECONDS = 0.003
"""Both ends come up from and go down to nothing, so that there is no click."""

WINDOW_SECONDS = 0.005

PAUSES = {"": 0.05, ",": 0.12, ";": 0.2, ":": 0.2, ".": 0.3, "!": 0.3, "?": 0.3}
"""Seconds of silence after a mark, before the next clause: what people leave when they read."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word as it was written, and when it sounds."""

    text: str
    start: float
    "seconds from the first sample"
    end: float
    glued: bool = False
    "written without a space before it"

    def later(self, seconds: float) -> SpokenWord:
        """Return the same word, sounding later."""
        return replace(self, start=self.start + seconds, end=self.end + seconds)


@dataclass(frozen=True, slots=True)
class Sound:
    """Speech as it goes to a line."""

    pcm: bytes = b""
    "signed 16-bit little-endian"
    words: tuple[SpokenWord, ...] = ()
    mark: str = ""
    "how it ends: the mark whose pause comes before whatever is said next"

    def seconds(self, rate: int) -> float:
        """Return its length."""
        return len(self.pcm) / 2 / rate


def finish(samples: Floats, source: int, rate: int) -> tuple[bytes, float]:
    """Make sound fit for a line: give it at `rate`, and how many seconds were cut off in front.

    What is heard is judged at the line's rate: an `s` may be all above what a telephone carries.
    Nothing audible: nothing is given.
    """
    if not samples.size or not np.isfinite(samples).all():
        return b"", 0.0
    loudest = max(float(np.abs(samples).max()), 1.0)  # louder than full scale would be clipped here
    raw = np.rint(samples * np.float32(32767 / loudest)).astype("<i2")
    pcm = np.frombuffer(convert(raw.tobytes(), source, rate), "<i2")
    width = int(rate * WINDOW_SECONDS)
    by_window = levels(np.pad(pcm, (0, -len(pcm) % width)), rate, WINDOW_SECONDS)
    if by_window.max() < FAINT_DB:
        return b"", 0.0
    gain_db = ACTIVE_DB - _active_level(by_window)
    audible = np.flatnonzero(by_window + gain_db > AUDIBLE_DB)
    begin = max(0, int(audible[0]) * width - int(LEAD_SECONDS * rate))
    end = min(len(pcm), (int(audible[-1]) + 1) * width + int(TAIL_SECONDS * rate))
    speech = pcm[begin:end].astype(np.float32) * np.float32(10 ** (gain_db / 20) / 32768)
    speech *= np.float32(min(1.0, PEAK / float(np.abs(speech).max())))
    fade = np.linspace(0, 1, int(FADE_SECONDS * rate), dtype=np.float32)[: len(speech)]
    speech[: len(fade)] *= fade
    speech[len(speech) - len(fade) :] *= fade[::-1]
    return np.rint(speech * 32767).astype("<i2").tobytes(), begin / rate


def _active_level(by_window: npt.NDArray[np.float64]) -> float:
    """Return the level of what is spoken, without the pauses."""
    active = by_window[by_window > by_window.max(initial=-96.0) - PAUSE_BELOW_DB]
    return float(10 * np.log10(np.mean(10 ** (active / 10)))) if active.size else -96.0


def written_words(
    said: Sequence[Said], times: Sequence[tuple[float, float]], seconds: float
) -> tuple[SpokenWord, ...]:
    """Return each written piece the time of its spoken words (`times`: one for each of those).

    A piece for which nothing is said goes with the one before it; no time is outside of the sound.
    """
    words: list[SpokenWord] = []
    at = 0
    for each in said:
        mine = times[at : at + len(each.words)]
        at += len(each.words)
        if mine:
            start = min(max(mine[0][0], 0.0), seconds)
            end = min(max(mine[-1][1], start), seconds)
            words.append(SpokenWord(each.written, start, end, each.glued))
        elif words:
            gap = "" if each.glued else " "
            words[-1] = replace(words[-1], text=words[-1].text + gap + each.written)
    return tuple(words)


def silence(seconds: float, rate: int) -> bytes:
    """Return so much silence."""
    return bytes(2 * int(seconds * rate))


def join(sounds: Sequence[Sound], rate: int) -> Sound:
    """Put sounds behind each other, with the pauses that their marks want."""
    pcm = bytearray()
    words: list[SpokenWord] = []
    mark = ""
    for sound in sounds:
        if pcm and sound.pcm:
            pcm += silence(PAUSES[mark], rate)
        offset = len(pcm) / 2 / rate
        words += [word.later(offset) for word in sound.words]
        pcm += sound.pcm
        mark = sound.mark or mark
    return Sound(bytes(pcm), tuple(words), mark)
