"""Recorded people, as they sound at 8 kHz."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from media.codec import wire_form
from media.frame import Samples
from media.resample import convert

DATA = Path(__file__).parent.parent / "data" / "speech"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording and where the speech in it begins and ends, in seconds."""

    name: str
    start: float
    end: float

    def samples(self, *, mulaw: bool = False) -> Samples:
        """Return the sound at 8 kHz, through mu-law if wanted."""
        sound, rate = soundfile.read(DATA / self.name, dtype="int16")
        pcm = convert(sound.tobytes(), rate, 8000)
        if mulaw:
            form = wire_form("pcmu", 8000)
            pcm = form.decode(form.encode(pcm))
        return np.frombuffer(pcm, dtype="<i2")


def recording(name: str) -> Recording:
    with (DATA / "manifest.csv").open(newline="") as table:
        for row in csv.DictReader(table):
            if row["file"] == name:
                return Recording(name, float(row["speech_start_s"]), float(row["speech_end_s"]))
    raise LookupError(name)


TURNS = [
    recording(name)
    for name in (
        "complete/sti_c13_45e6e6bb.flac",
        "complete/tel_ar40_agent_8am.flac",
        "complete/tel_ar40_caller_letsdoit.flac",
        "complete/tel_ar40_caller_thanks.flac",
        "complete/wb_sm_howyougetting.flac",
        "short_turn/wb_sm_st_banana.flac",
    )
]
