"""Weights of the evidence as the recordings have them, each speaker held out in turn.

    python -m bench.turns.fit [FOLDER]

The weights in use are round numbers with reasons; this shows that data would choose the same side,
and what the whole machine does on speakers whose recordings chose nothing.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.turns.ends import Outcome, outcome, summary
from bench.turns.hearing import Memory
from bench.turns.recordings import Recording, load, scored
from bench.turns.spans import Span, spans
from gateway.commands.shared.offline_models import ears
from inference.runtime import Runtime
from turn.evidence import SURE, Weights
from turn.offline import Ears
from turn.pause import EndpointSettings
from turn.profile import DEFAULT
from turn.taking import TurnSettings

Floats = npt.NDArray[np.float64]

PRIOR = 1.0
"""How strongly a fitted weight is drawn to the one in use: with twenty spans or so for each kind of
word, a fit without it would follow single recordings."""

NAMES = ("open", "leaning", "filler", "opener", "closing", "question", "dangling")


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a fit gave."""

    scale: float
    "of the detector's log-odds"
    offset: float
    weights: Weights


def features(span: Span) -> list[float]:
    """Return a span's log-odds, and which evidence there is."""
    probability = min(max(span.probability, 1 - SURE), SURE)
    marks = {"question": "question", "dangling": "dangling"}
    reading = span.reading
    kind = marks.get(reading.mark, "") if reading.ending == "plain" else reading.ending
    return [math.log(probability / (1 - probability)), *(float(kind == each) for each in NAMES)]


def fit(found: Sequence[Span]) -> Fitted:
    """Fit a logistic regression with a Gaussian prior around the weights in use."""
    rows = np.array([features(each) for each in found])
    inputs = np.hstack([rows, np.ones((len(rows), 1))])
    target = np.array([float(each.over) for each in found])
    weights = Weights()
    prior = np.array([1.0, *(getattr(weights, each) for each in NAMES), 0.0])
    strength = np.diag([PRIOR] * (len(NAMES) + 1) + [1e-3])

    def loss(beta: Floats) -> float:
        odds = inputs @ beta
        away = beta - prior
        return float(np.sum(np.logaddexp(0, odds) - target * odds) + away @ strength @ away / 2)

    beta = prior.copy()
    for _ in range(100):  # Newton's method, with steps halved while they overshoot
        believed = 1 / (1 + np.exp(-np.clip(inputs @ beta, -30, 30)))
        gradient = inputs.T @ (believed - target) + strength @ (beta - prior)
        curvature = (inputs * (believed * (1 - believed))[:, None]).T @ inputs + strength
        step = np.linalg.solve(curvature, gradient)
        while loss(beta - step) > loss(beta) + 1e-12:
            step /= 2
        beta = beta - step
        if float(np.abs(step).max()) < 1e-9:
            break
    scale, offset = float(beta[0]), float(beta[-1])
    # The machine takes the detector's log-odds as they are: all is brought to that scale.
    shifts = {name: float(beta[index + 1] / scale) for index, name in enumerate(NAMES)}
    return Fitted(scale, offset / scale, replace(weights, **shifts))


def area(scores: Sequence[float], over: Sequence[bool]) -> float:
    """Return the share of (end, hold) pairs in which the end is scored higher."""
    ends = np.array([score for score, each in zip(scores, over, strict=True) if each])
    holds = np.array([score for score, each in zip(scores, over, strict=True) if not each])
    higher = (ends[:, None] > holds[None, :]) + 0.5 * (ends[:, None] == holds[None, :])
    return float(higher.mean())


def held_out(
    recordings: Sequence[Recording],
    found: Sequence[Span],
    hearing: Ears,
    fold: Callable[[Recording], str] = lambda each: each.speaker,
) -> list[Outcome]:
    """Take turns over the recordings of each fold with weights fitted to those of all others."""
    results = []
    for name in sorted({fold(each) for each in recordings}):
        fitted = fit([each for each in found if fold(each.recording) != name])
        settings = TurnSettings(DEFAULT, endpoint=EndpointSettings(weights=fitted.weights))
        mine = [each for each in recordings if fold(each) == name]
        results += [outcome(each, hearing, settings) for each in mine]
    return results


def main() -> None:
    """Print the fitted weights and the figures on held-out speakers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("tests/data/speech"))
    args = parser.parse_args()
    recordings = scored(load(args.folder))
    runtime = Runtime()
    try:
        hearing = Memory(ears(runtime, "silero")).remembering()
        found = spans(recordings, hearing)
        fitted = fit(found)
        print(f"{len(found)} pauses; detector's log-odds times {fitted.scale:.2f}")
        for name in NAMES:
            count = sum(features(each)[1 + NAMES.index(name)] for each in found)
            fits, used = getattr(fitted.weights, name), getattr(Weights(), name)
            print(f"  {name:<10} {fits:+.1f}  in use {used:+.1f}  ({count:.0f} pauses)")
        over = [each.over for each in found]
        print(f"area, detector alone   {area([each.probability for each in found], over):.3f}")
        print(f"area, weights in use   {area([each.believed() for each in found], over):.3f}")
        results = summary("held out", held_out(recordings, found, hearing))
        print(
            f"held-out speakers: median {results.median:.2f} s, 95th percentile"
            f" {results.p95:.2f} s, cut short {100 * results.cut:.1f} %"
        )
    finally:
        runtime.close()


if __name__ == "__main__":
    main()
