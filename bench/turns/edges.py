"""Where the gate puts the end of speech, and how a speaker's pauses follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.turns.recordings import RATE, Recording
from turn.events import SpeechStopped
from turn.gate import Gate
from turn.offline import Ears

KINDS = ("complete", "short_turn", "midpause", "incomplete")
FACTORS = (1.0, 1.2, 1.5, 1.8)


@dataclass(frozen=True, slots=True)
class Edges:
    """Seconds from the marked end of speech to where it was put."""

    by: str
    recordings: int
    low: float
    "tenth percentile"
    median: float
    high: float
    "ninetieth percentile"


def edges(recordings: Sequence[Recording], ears: Ears) -> list[Edges]:
    """Compare both edges of the gate with the ends that are marked in the manifest."""
    level, model = [], []
    for each in recordings:
        if each.kind not in KINDS or each.language != "en" or each.tail < 0.4:
            continue
        gate = Gate(RATE)
        for window in ears.voice(each.samples, RATE):
            if any(isinstance(edge, SpeechStopped) for edge in gate.feed(window)):
                last = gate.end, gate.model_end
        level.append(last[0] / RATE - each.end)
        model.append(last[1] / RATE - each.end)
    return [_spread("level", level), _spread("voice model", model)]


def _spread(by: str, errors: Sequence[float]) -> Edges:
    low, middle, high = (float(np.percentile(errors, each)) for each in (10, 50, 90))
    return Edges(by, len(errors), low, middle, high)


def habits(recordings: Sequence[Recording]) -> dict[float, tuple[int, int]]:
    """Count, for each factor, the pauses no longer than that many times the longest before."""
    found = []
    for each in recordings:
        if each.kind not in ("midpause", "monologue", "complete"):
            continue
        lengths = [end - start for start, end in each.pauses]
        found += [
            length / max(lengths[:index]) for index, length in enumerate(lengths) if index > 0
        ]
    return {factor: (sum(each <= factor for each in found), len(found)) for factor in FACTORS}
