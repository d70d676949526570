"""Whether a detector on other hardware still answers as the one on the processor does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from media.frame import Samples
from turn.features import TurnSound
from turn.semantic import LEAD_SECONDS, Question, TurnAssessor

HALF = 0.5
"""Belief on whose other side an answer counts as another decision."""

MOST_FLIPS = 0.1
"""Share of decisions that may differ: a tenth of a percent of noise flips 2.5 % of them already,
and taking the quantisation out of the graph flipped 4 % where that was measured."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two detectors compare on the same questions."""

    questions: int
    mean: float
    "difference of their probabilities"
    worst: float
    flips: int
    "questions that they decide differently"

    @property
    def good(self) -> bool:
        """The other one may be used."""
        return self.questions > 0 and self.flips <= MOST_FLIPS * self.questions


def ask(assessor: TurnAssessor, recordings: Iterable[tuple[Samples, int]]) -> list[float]:
    """Ask about the end of each recording (samples, rate), and about its middle."""
    answers = []
    for samples, rate in recordings:
        for end in (len(samples) // 2, len(samples)):
            sound = TurnSound(rate)
            for begin in range(0, end, rate):
                sound.feed(samples[begin : min(begin + rate, end)])
            start = max(0, end - int((8 - LEAD_SECONDS) * rate))
            answer = assessor.assess_now(Question(sound, start, end))
            if answer.probability is not None:
                answers.append(answer.probability)
    return answers


def compare(one: list[float], other: list[float]) -> Agreement:
    """Compare the answers of two detectors to the same questions."""
    first, second = np.array(one), np.array(other)
    if not len(first) or len(first) != len(second):
        return Agreement(0, 0.0, 0.0, 0)
    difference = np.abs(first - second)
    flips = int(np.sum((first > HALF) != (second > HALF)))
    return Agreement(len(first), float(difference.mean()), float(difference.max()), flips)
