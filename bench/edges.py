"""Measures how well the edges of speech are found, against the marks of recorded turns.

python -m bench.edges [--speech FOLDER]
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
import soundfile

from media.codec import wire_form
from media.level import voiced_span
from media.resample import convert

PCMU = wire_form("pcmu", 8000)


def errors(folder: Path, kinds: tuple[str, ...], *, mulaw: bool) -> list[tuple[float, float]]:
    """Return the error of start and end for each turn, in seconds; late is positive."""
    found = []
    with (folder / "manifest.csv").open(newline="") as table:
        rows = [row for row in csv.DictReader(table) if row["kind"] in kinds]
    for row in rows:
        sound, rate = soundfile.read(folder / row["file"], dtype="int16")
        pcm = sound.tobytes()
        if mulaw:
            pcm, rate = PCMU.decode(PCMU.encode(convert(pcm, rate, 8000))), 8000
        span = voiced_span(pcm, rate)
        if span is None:
            print(f"no speech found in {row['file']}")
            continue
        found.append(
            (
                span[0] / rate - float(row["speech_start_s"]),
                span[1] / rate - float(row["speech_end_s"]),
            )
        )
    return found


def main() -> None:
    """Print the errors for turns at their own rate and as a telephone carries them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speech", type=Path, default=Path("tests/data/speech"))
    options = parser.parse_args()
    print(f"{'sound':12}{'turns':>7}{'edge':>7}{'median':>9}{'95 %':>8}{'worst':>8}  absolute, s")
    for name, mulaw in (("as recorded", False), ("mu-law 8 kHz", True)):
        both = errors(options.speech, ("complete", "short_turn"), mulaw=mulaw)
        for edge, which in (("start", 0), ("end", 1)):
            off = np.abs([one[which] for one in both])
            figures = f"{np.median(off):9.3f}{np.percentile(off, 95):8.3f}{off.max():8.3f}"
            print(f"{name:12}{len(off):7}{edge:>7}{figures}")


if __name__ == "__main__":
    main()
