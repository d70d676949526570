"""Pauses judged one by one, as published comparisons of end-of-turn detectors do it.

Every pause of 0.2 s or more is a hold (the speaker goes on, or was cut off) or the end of a turn;
a detector scores it 0.2 s in.
A policy has a threshold, a delay before which it never acts and a time-out after which it always
does; of all policies the best is taken that keeps a budget.
Delays are silence waited, without computing time, as there (LiveKit's eot-bench, 2026).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.turns.recordings import LEAST_TAIL, RATE, Recording
from turn.events import SpeechStarted, SpeechStopped
from turn.evidence import Asked, Weights, belief
from turn.gate import Gate
from turn.offline import Ears
from turn.semantic import LEAD_SECONDS
from turn.words import Lexicon, Reading, lexicon, plausible, read

SCORED_AT = 0.2
LONGEST_HOLD = 5.0
LOOKED_AT = 8.0
THRESHOLDS = np.arange(0.02, 1.0, 0.02)
DELAYS = np.arange(0.2, 1.01, 0.1)
TIMEOUTS = np.arange(0.3, 3.01, 0.1)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Span:
    """One pause, with what was known 0.2 s into it."""

    recording: Recording
    start: float
    "seconds"
    length: float
    over: bool
    "the turn was over"
    probability: float
    "of the semantic detector"
    reading: Reading
    voiced: float
    "seconds of voice in the turn so far"

    def believed(self, weights: Weights | None = None) -> float:
        """Return the belief with the words."""
        return belief(self.probability, self.reading, Asked(), self.voiced, weights)


def spans(recordings: Sequence[Recording], ears: Ears) -> list[Span]:
    """Find and judge all pauses."""
    lists = lexicon("en")
    return [span for each in recordings for span in _spans(each, ears, lists)]


def _spans(recording: Recording, ears: Ears, lists: Lexicon) -> list[Span]:
    assert ears.semantic is not None
    assert ears.words is not None
    found: list[Span] = []
    gate = Gate(RATE)
    edges = [
        edge for window in ears.voice(recording.samples, RATE) for edge in _edges(gate, window)
    ]
    first = next((start for start, _, _ in edges), 0)
    voiced = 0.0
    for index, (_, end, seconds) in enumerate(edges):
        voiced += seconds
        later = edges[index + 1][0] if index + 1 < len(edges) else len(recording.samples)
        length = (later - end) / RATE
        last = end / RATE > recording.end - 0.25
        over = last and not recording.unfinished
        if length < SCORED_AT or (over and recording.tail < LEAST_TAIL - 0.001):
            continue
        at = end + int(SCORED_AT * RATE)
        lead = max(0, first - int(LEAD_SECONDS * RATE), at - 8 * RATE)
        probability = ears.semantic(recording.samples[lead:at], RATE)
        begin = max(first, end - int(LOOKED_AT * RATE))
        text = ears.words(recording.samples[begin : end + int(0.12 * RATE)], RATE)
        text = text if plausible(text, min(voiced, LOOKED_AT)) else ""
        found.append(
            Span(
                recording,
                end / RATE,
                min(length, LONGEST_HOLD) if not over else length,
                over,
                0.5 if probability is None else probability,
                read(text, lists),
                voiced,
            )
        )
        if last:
            break
    return found


def _edges(gate: Gate, window: object) -> list[tuple[int, int, float]]:
    """Return (start, end, voiced seconds) of a sound when it stops."""
    found = []
    for edge in gate.feed(window):  # type: ignore[arg-type]
        match edge:
            case SpeechStopped(end=end):
                found.append((gate.start, end, gate.seconds))
            case SpeechStarted():
                pass
    return found


@dataclass(frozen=True, slots=True)
class Budgets:
    """The best that any policy does within each budget; shares and seconds."""

    cut_at_300: float
    "share of holds cut off, at a mean delay of 0.3 s or less; nan: no policy is so fast"
    cut_at_600: float
    delay_at_5: float
    "mean delay, with 5 % of holds cut off or fewer; nan: no policy is so careful"
    delay_at_10: float
    holds: int
    ends: int


def budgets(scores: Sequence[float], found: Sequence[Span]) -> Budgets:
    """Try all policies on the scores; scores of 0 make plain silence timers."""
    score = np.array(scores)
    over = np.array([each.over for each in found])
    length = np.array([each.length for each in found])
    cuts, delays = [], []
    for threshold in THRESHOLDS:
        for delay in DELAYS:
            for timeout in TIMEOUTS[delay <= TIMEOUTS + 1e-9]:
                acts = np.where(score >= threshold, delay, timeout)
                cuts.append(float(np.mean(length[~over] >= acts[~over])))
                delays.append(float(np.mean(acts[over])))
    cut, late = np.array(cuts), np.array(delays)
    return Budgets(
        _least(cut, late <= 0.3 + 1e-9),
        _least(cut, late <= 0.6 + 1e-9),
        _least(late, cut <= 0.05),
        _least(late, cut <= 0.10),
        int((~over).sum()),
        int(over.sum()),
    )


def _least(values: Floats, allowed: npt.NDArray[np.bool_]) -> float:
    return float(values[allowed].min()) if allowed.any() else float("nan")
