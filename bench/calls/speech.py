"""Recordings for measurements, from a folder with a `manifest.csv`."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from bench.calls.gateway_process import ROOT
from gateway.caller.sound import Recording, load

SPEECH = ROOT / "tests/data/speech"
LINE_RATE = 8000


def recordings(folder: Path, kinds: Sequence[str], rate: int = LINE_RATE) -> list[Recording]:
    """Load the English recordings of these kinds, made ready for a telephone line."""
    with (folder / "manifest.csv").open(newline="") as manifest:
        wanted = [
            row["file"]
            for row in csv.DictReader(manifest)
            if row["kind"] in kinds and row["lang"] == "en"
        ]
    return [load(folder / name, rate) for name in sorted(set(wanted))]
