"""Measures who is taken for whom where placed calls are answered: recorded people, and machines.

    python -m bench.answers [FOLDER]

FOLDER holds `manifest.csv` and its recordings; without it, `PARLEY_SPEECH`, or the few recordings
that come with the project.
People answer with what was recorded of them, on a quiet line, in noise, and after a hello of their
own; machines greet in the embedded voice, with pauses and beeps of several kinds.
All is heard through mu-law, and two runs give the same figures.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.answers.answers import machines, people
from bench.answers.heard import Told, hear
from bench.turns.recordings import load
from gateway.backends.cascade.voices.local import LocalVoice
from gateway.commands.shared.offline_models import ears
from inference.runtime import Runtime
from turn.offline import Ears

LATEST = 1.0
"""Seconds after a beep by which its message has begun."""
LATEST_WITHOUT = 4.5
"""The same after a greeting that is followed by no beep."""


def main() -> None:
    """Play every answer and print both figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    default = Path(os.environ.get("PARLEY_SPEECH", "tests/data/speech"))
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    args = parser.parse_args()
    runtime = Runtime()
    try:
        heard_with = ears(runtime, "silero")
        for line in (*_people(args.folder, heard_with), *_machines(runtime, heard_with)):
            print(line, flush=True)
    finally:
        runtime.close()


def _people(folder: Path, heard_with: Ears) -> Iterator[str]:
    answers = people(load(folder))
    told = [(one, hear(one.samples, heard_with)) for one in answers]
    taken = [one.name for one, each in told if each.machine]
    waited = sorted(
        at - one.end for one, each in told for at, who in each.answered[:1] if who.kind == "person"
    )
    yield f"people: {len(taken)} of {len(told)} taken for a machine"
    yield from (f"  {name}" for name in taken)
    if waited:
        half, most = waited[len(waited) // 2], waited[int(len(waited) * 0.95)]
        yield f"  greeted {half:.2f} s after their last word in the median, {most:.2f} s at 95 %"


def _machines(runtime: Runtime, heard_with: Ears) -> Iterator[str]:
    voice = LocalVoice(runtime)
    voice.load()
    seen: Counter[str] = Counter()
    good: Counter[str] = Counter()
    missed = []
    for one in asyncio.run(machines(voice)):
        told = hear(one.samples, heard_with)
        seen[one.kind] += 1
        if _right(told, one.end, beeps=one.beeps):
            good[one.kind] += 1
        else:
            missed.append((one.name, told))
    yield f"machines: {good.total()} of {seen.total()} left a message where it is recorded"
    yield from (f"  {kind}: {good[kind]} of {count}" for kind, count in sorted(seen.items()))
    for name, told in missed:
        found = ", ".join(f"{at:.1f} {who.kind}" for at, who in told.answered)
        left = ", ".join(f"{at:.1f}" for at in told.left)
        yield f"  missed: {name}: {found}; left at {left or 'no time'}"


def _right(told: Told, end: float, *, beeps: bool) -> bool:
    latest = LATEST if beeps else LATEST_WITHOUT
    return bool(told.left) and end - 0.1 <= told.left[-1] <= end + latest


if __name__ == "__main__":
    main()
