"""Recorded speech for tests, with what is known about it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import soundfile

from media.frame import Samples
from media.resample import convert

SPEECH = Path(__file__).parent.parent / "data" / "speech"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording, at the rate it was asked for."""

    file: str
    kind: str
    rate: int
    samples: Samples
    start: int
    end: int
    "one past the last sample of speech"


def telephone(*kinds: str) -> list[Recording]:
    """Read the recordings of some kinds at 8 kHz, each with a second of silence after it."""
    return recordings(8000, *kinds)


@cache
def recordings(rate: int, *kinds: str) -> list[Recording]:
    """Read recordings of some kinds at a rate, but for those that hold too little for it."""
    with (SPEECH / "manifest.csv").open(newline="") as opened:
        rows = [row for row in csv.DictReader(opened) if row["kind"] in kinds]
    found = []
    for row in rows:
        samples, own = soundfile.read(SPEECH / row["file"], dtype="int16")
        if own < min(rate, 16000):
            continue
        converted = np.frombuffer(convert(samples.tobytes(), own, rate), "<i2")
        start, end = (round(float(row[key]) * rate) for key in ("speech_start_s", "speech_end_s"))
        padded = np.concatenate([converted, np.zeros(rate, np.int16)])
        found.append(Recording(row["file"], row["kind"], rate, padded, start, end))
    assert found, (rate, kinds)
    return found
