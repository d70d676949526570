"""Recordings with what is known about them, as a telephone line would carry them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile
import soxr

from media.codec import wire_form
from media.frame import Samples

RATE = 8000

LEAST_TAIL = 1.2
"""Seconds after the end of a complete turn without which a slow method could not show itself."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording in the telephone band; times in seconds."""

    file: str
    kind: str
    speaker: str
    language: str
    transcript: str
    notes: str
    samples: Samples
    start: float
    "first voiced sample"
    end: float
    "last voiced sample: where the turn truly ends, or where the speaker has only paused"
    pauses: tuple[tuple[float, float], ...]
    "pauses of 0.35 s and more inside the turn"

    @property
    def source(self) -> str:
        """Where the speaker comes from: the first part of their name."""
        return self.speaker.rstrip("0123456789").partition("_")[0]

    @property
    def seconds(self) -> float:
        """Length of the recording."""
        return len(self.samples) / RATE

    @property
    def tail(self) -> float:
        """Sound after the end of speech."""
        return self.seconds - self.end

    @property
    def unfinished(self) -> bool:
        """Whether the speaker has more to say, so that any end is a cut."""
        return self.kind == "incomplete"

    @property
    def cut(self) -> bool:
        """Whether it was cut off by a tool rather than by a pause: there is no hesitation in it."""
        return self.file.endswith("_cut.flac")

    def later(self, seconds: float) -> Recording:
        """Return the same recording after a little silence."""
        silence = np.zeros(round(seconds * RATE), np.int16)
        return replace(
            self,
            samples=np.concatenate([silence, self.samples]),
            start=self.start + seconds,
            end=self.end + seconds,
        )


def load(folder: Path) -> list[Recording]:
    """Read all recordings of a folder by its manifest."""
    with (folder / "manifest.csv").open(newline="", encoding="utf-8") as opened:
        return [_recording(folder, row) for row in csv.DictReader(opened)]


def scored(recordings: Sequence[Recording]) -> list[Recording]:
    """Choose the turns whose end is scored: English, with enough after them."""
    return [
        each
        for each in recordings
        if each.language == "en"
        and (
            (each.kind == "complete" and each.tail >= LEAST_TAIL - 0.001)
            or each.kind in ("midpause", "incomplete")
        )
    ]


def telephone(samples: Samples, rate: int) -> Samples:
    """Send sound through the telephone's band and mu-law."""
    if rate != RATE:
        samples = soxr.resample(samples, rate, RATE)
    form = wire_form("pcmu", RATE)
    return np.frombuffer(form.decode(form.encode(samples.tobytes())), "<i2")


def _recording(folder: Path, row: dict[str, str]) -> Recording:
    samples, rate = soundfile.read(folder / row["file"], dtype="int16")
    heard = telephone(samples, rate)
    spans = [each.split("-") for each in row["pauses"].split(";") if each]
    return Recording(
        row["file"],
        row["kind"],
        row["speaker"],
        row["lang"],
        row["transcript"],
        row["notes"],
        heard,
        float(row["speech_start_s"] or 0),
        float(row["speech_end_s"] or len(heard) / RATE),
        tuple((float(start), float(end)) for start, end in spans),
    )
