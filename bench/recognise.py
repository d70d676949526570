"""Measures the embedded recogniser over recorded speech: wrong words, and what a turn costs.

    python -m bench.recognise FOLDER [--wide] [--width N] [--hint WORDS]... [--cuts N]
                              [--draft SHARE] [--each]

FOLDER holds `manifest.csv` (file, lang, kind, transcript, speech_start_s, speech_end_s) and its
recordings; each is heard as one turn, through the telephone's band and mu-law unless `--wide`.
Where exactly a turn is cut out moves the words by chance, one or two in a hundred either way, so
that settings are only to be compared over several cuts.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile
import soxr

from gateway.backends.cascade.recognisers.moonshine import AROUND, Moonshine, MoonshineSettings
from inference.runtime import Runtime
from media.codec import wire_form
from media.frame import Samples

KINDS = ("complete", "short_turn", "midpause")
FILLERS = frozenset(["uh", "um", "uhm", "ah", "er", "erm", "hm", "mm", "oh"])
SAME = {
    r"\b8\b": "eight",
    r"\b10\b": "ten",
    r"\b2018\b": "twenty eighteen",
    r"\btwo thousand and eighteen\b": "twenty eighteen",
    r"\bto-day\b": "today",
    r"\bto-morrow\b": "tomorrow",
    r"\bgood-bye\b": "goodbye",
}
"""What is one word in two spellings."""


def words(text: str) -> list[str]:
    """Cut a transcript into words that can be compared: no case, marks or fillers."""
    text = re.sub(r"\[.*?\]", " ", text.lower()).replace("'", "").replace("’", "")
    for spelling, word in SAME.items():
        text = re.sub(spelling, word, text)
    return [word for word in re.findall(r"[a-z0-9]+", text) if word not in FILLERS]


def edits(said: list[str], heard: list[str]) -> int:
    """Count the words to drop, insert or change."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        before, row[0] = row[:], i
        for j, other in enumerate(heard, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word != other))
    return row[-1]


def recordings(folder: Path) -> Iterator[dict[str, str]]:
    """Return the rows of English turns whose words are known."""
    with (folder / "manifest.csv").open(newline="") as opened:
        for row in csv.DictReader(opened):
            known = row["transcript"] and not re.search(r"\.\.\.|uncertain", row["transcript"])
            if row["lang"] == "en" and row["kind"] in KINDS and known:
                yield row


def sound(path: Path, wide: bool) -> tuple[Samples, int]:
    """Read a recording as the line would give it."""
    samples, rate = soundfile.read(path, dtype="int16")
    if wide:
        return samples, rate
    if rate != 8000:
        samples = soxr.resample(samples, rate, 8000)
    form = wire_form("pcmu", 8000)
    return np.frombuffer(form.decode(form.encode(samples.tobytes())), "<i2"), 8000


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wide", action="store_true", help="as recorded, not as on the phone")
    parser.add_argument("--width", type=int, default=MoonshineSettings().width)
    parser.add_argument("--after", type=float, default=MoonshineSettings().after)
    parser.add_argument("--hint", action="append", default=[], metavar="WORDS")
    parser.add_argument("--once", action="store_true", help="no second look at doubtful turns")
    parser.add_argument(
        "--draft", type=float, default=0.0, metavar="SHARE", help="after a look at so much of it"
    )
    parser.add_argument("--cuts", type=int, default=1, help="ways each turn is cut out")
    parser.add_argument("--each", action="store_true", help="print every transcript")
    return parser.parse_args()


def main() -> None:
    """Print the share of wrong words by kind, and the cost."""
    args = arguments()
    settings = replace(MoonshineSettings(), width=args.width, after=args.after)
    if args.once:
        settings = replace(settings, doubtful=-math.inf)
    runtime = Runtime()
    wrong: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    costs: list[tuple[float, float]] = []
    for cut in range(args.cuts):
        recogniser = Moonshine(runtime, replace(settings, margin=settings.margin + 0.03 * cut))
        recogniser.load()
        for row in recordings(args.folder):
            samples, rate = sound(args.folder / row["file"], args.wide)
            start, end = float(row["speech_start_s"]), float(row["speech_end_s"])
            turn = samples[int(max(0.0, start - AROUND) * rate) : int((end + AROUND) * rate)]
            draft = recogniser.hear(turn[: int(len(turn) * args.draft)], rate).pieces
            begun = time.thread_time()
            heard = recogniser.hear(turn, rate, tuple(args.hint), draft=draft).text
            costs.append((len(turn) / rate, time.thread_time() - begun))
            said = words(row["transcript"])
            errors = edits(said, words(heard))
            wrong[row["kind"]] += errors
            total[row["kind"]] += len(said)
            if args.each:
                print(f"{errors:3d}/{len(said):<3d} {row['file']}: {heard}")
    for kind in total:
        print(f"{kind:12s} {wrong[kind] / total[kind]:6.1%} of {total[kind]} words")
    print(f"{'all':12s} {sum(wrong.values()) / sum(total.values()):6.1%} of {sum(total.values())}")
    for low, high in ((0, 1), (1, 3), (3, 6), (6, 12), (12, 60)):
        some = [cost for seconds, cost in costs if low <= seconds < high]
        if some:
            print(f"{low:2d} to {high:2d} s: {1000 * np.median(some):6.1f} CPU-ms a turn, median")


if __name__ == "__main__":
    main()
