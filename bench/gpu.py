"""What the turn detector costs on the configured hardware, by batch: run it where there is a GPU.

`python -m bench.gpu [cuda|tensorrt|cpu]` prints a Markdown table for `docs/models.md`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from gateway.commands.shared.build_engines import load
from inference import ProviderMissing
from inference.providers import PROVIDERS
from inference.runtime import Runtime, RuntimeSettings
from turn.agreement import ask, compare
from turn.features import FRAMES
from turn.mel import BANDS
from turn.semantic import SemanticSettings, TurnAssessor

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SECONDS = 2.0
"""Measured time for each batch size."""

SPEECH = Path(__file__).parent.parent / "tests/data/speech"


def measure(assessor: TurnAssessor, batch: int) -> list[float]:
    """Run one batch size again and again; give each run's seconds."""
    pictures = np.random.default_rng(batch).normal(size=(batch, BANDS, FRAMES)).astype(np.float32)
    assessor.probabilities(pictures)
    taken: list[float] = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or len(taken) < 3:
        began = time.perf_counter()
        assessor.probabilities(pictures)
        taken.append(time.perf_counter() - began)
    return taken


def main(provider: str) -> int:
    """Print the table."""
    if provider not in PROVIDERS:
        print(f"there is no provider {provider}; there are {', '.join(PROVIDERS)}")
        return 2
    runtime = Runtime(RuntimeSettings(providers=(provider,), cache=Path("out/engines")))
    began = time.monotonic()
    try:
        assessor = TurnAssessor(runtime, SemanticSettings(largest_batch=max(BATCHES)))
    except ProviderMissing as missing:
        print(missing)
        return 2
    assessor.warm()
    built = time.monotonic() - began
    got = ", ".join(runtime.loaded[-1].got)
    print(f"Turn detector on {got}, ready after {built:.1f} s.\n")
    print("| batch | median ms | p99 ms | questions a second |")
    print("|---|---|---|---|")
    for batch in BATCHES:
        taken = measure(assessor, batch)
        middle, late = np.median(taken), np.percentile(taken, 99)
        print(f"| {batch} | {middle * 1e3:.2f} | {late * 1e3:.2f} | {batch / middle:.0f} |")
    recordings = load(SPEECH)
    plain = TurnAssessor(Runtime(RuntimeSettings()))
    found = compare(ask(assessor, recordings), ask(plain, recordings))
    print(
        f"\nAgainst the processor: {found.questions} questions, mean difference {found.mean:.3f}, "
        f"{found.flips} decided differently."
    )
    return 0 if found.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "tensorrt"))
