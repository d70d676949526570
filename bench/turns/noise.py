"""Turns with somebody or something behind the caller, and at other levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bench.turns.ends import outcome
from bench.turns.recordings import RATE, Recording, telephone
from media.frame import Samples
from turn.offline import Ears
from turn.profile import DEFAULT
from turn.taking import TurnSettings

TAIL = 6.0
"""Seconds for which what is behind goes on after the recording."""

VOICES = 8
"""Talkers that make a babble."""

EVERY = 3
"""Every third turn is heard in noise: each is heard anew."""

BEHIND = (("one talker", 20), ("one talker", 25), ("babble", 15), ("babble", 20))
"""What is behind the caller, and by how many decibels it is weaker."""

GAINS = (-20, 6)

Sound = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Behind:
    """What the default does with turns in one noise; seconds."""

    what: str
    turns: int
    median: float
    longest: float
    "of all that ended, after the true end"
    never: int
    "not ended within `TAIL`"
    cut: int


def behind(turns: Sequence[Recording], everybody: Sequence[Recording], ears: Ears) -> list[Behind]:
    """Take complete turns and those with pauses in each noise and at each gain."""
    chosen = [each for each in turns if not each.unfinished][::EVERY]
    found = []
    for what, below in BEHIND:
        heard = [_mixed(each, what, below, everybody, seed) for seed, each in enumerate(chosen)]
        found.append(_measured(f"{what} {below} dB lower", heard, ears))
    return found + [
        _measured(f"gain {gain:+d} dB", [_louder(each, gain) for each in chosen], ears)
        for gain in GAINS
    ]


def _measured(what: str, heard: Sequence[Recording], ears: Ears) -> Behind:
    results = [outcome(each, ears, TurnSettings(DEFAULT)) for each in heard]
    late = [each.at - each.recording.end for each in results if each.at and not each.cut]
    return Behind(
        what,
        len(heard),
        float(np.median(late)) if late else float("nan"),
        max(late, default=float("nan")),
        sum(each.at is None for each in results),
        sum(each.cut for each in results),
    )


def _mixed(
    recording: Recording, what: str, below: float, everybody: Sequence[Recording], seed: int
) -> Recording:
    own = recording.samples[int(recording.start * RATE) : int(recording.end * RATE)]
    count = len(recording.samples) + int(TAIL * RATE)
    others = [each for each in everybody if each.speaker != recording.speaker]
    voices = 1 if what == "one talker" else VOICES
    sound = np.sum([_talker(others, count, seed + index) for index in range(voices)], axis=0)
    sound *= (_level(own) / _level(sound)) * 10 ** (-below / 20)
    sound[: len(recording.samples)] += recording.samples
    pcm = np.clip(np.rint(sound), -32768, 32767).astype(np.int16)
    return replace(recording, samples=telephone(pcm, RATE))


def _talker(others: Sequence[Recording], count: int, seed: int) -> Sound:
    """Let somebody else speak without a stop, at one level."""
    spoken = [each for each in others if each.kind in ("complete", "midpause", "demo")]
    parts: list[Sound] = []
    length, index = 0, seed * 7
    while length < count:
        each = spoken[index % len(spoken)]
        part = each.samples[int(each.start * RATE) : int(each.end * RATE)].astype(np.float64)
        parts.append(part / _level(part))
        length += len(part)
        index += 1
    return np.concatenate(parts)[:count]


def _level(samples: Samples | Sound) -> float:
    """Return the root mean square of what is not silent."""
    sound = np.asarray(samples, np.float64)
    blocks = np.sqrt((sound[: len(sound) // 256 * 256].reshape(-1, 256) ** 2).mean(axis=1))
    loud = blocks[blocks > blocks.max(initial=0.0) * 0.05]
    return float(np.sqrt((loud**2).mean())) if len(loud) else 1.0


def _louder(recording: Recording, gain: int) -> Recording:
    silence = np.zeros(int(TAIL * RATE))
    sound = np.concatenate([recording.samples, silence]) * 10 ** (gain / 20)
    pcm = np.clip(np.rint(sound), -32768, 32767).astype(np.int16)
    return replace(recording, samples=telephone(pcm, RATE))
