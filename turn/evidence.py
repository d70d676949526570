"""How finished a turn sounds: melody, words and what was asked, added up as log-odds.

The semantic detector's probability is the base; everything else shifts it by a fixed weight.
Words are asked of a recogniser on telephone sound, so no weight is so large that it overrules a
detector that is sure, save where the next word is owed by grammar.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from turn.forms import KINDS, Form
from turn.words import Reading

YEAR_DIGITS = 4

SURE = 0.99
"""The detector's answers beyond this are noise of its int8 arithmetic: 4.6 in log-odds."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Shifts in log-odds; +2.2 turns an even belief into 0.9, -2.2 into 0.1.

    `python -m bench.fit` fits such weights to the recordings, one speaker held out at a time; its
    figures stand in `docs/turn-taking.md`. These are round numbers on the same side.
    """

    open: float = -3.5
    "the last word leans on one that is still to come: `and`, `with a`, `my number is`"
    leaning: float = -1.0
    "a word that turns seldom end on, or that the recogniser often takes for another"
    filler: float = -3.5
    "the speaker is thinking aloud"
    opener: float = -2.0
    "nothing was said yet but `well`, `sure`, `all right`: an answer, or the beginning of one"
    opener_most: float = 0.75
    """belief that such an answer can reach while no yes or no was asked for, and that a sound can
    reach in which the recogniser found no word at all"""
    closing: float = 1.0
    "`thank you`, `that's all`"
    question: float = 1.0
    "the recogniser heard a question: whoever asks waits for the answer"
    dangling: float = -1.0
    "the recogniser put no mark, or dots, at the end"
    short: float = -3.0
    "under `short_seconds` of voice: too little for the detector to go by"
    short_seconds: float = 0.3
    missing: float = -3.0
    "what was asked for (a name, a number, letters) has not been said yet"
    series: float = -1.5
    "the text ends in digits or letters, which come in groups"
    answered: float = 2.0
    "what was asked for is there: a yes or no"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller was asked for."""

    kind: str = ""
    "`yes_no`, `name`, `digits`, `spelling`, `open`, or empty"
    length: int = 0
    "how many digits or letters are wanted; 0: not known"
    question: bool = False
    "the agent's last utterance asked something, and nobody said what"
    form: str = ""
    "the kind of form that the words of its question asked for"

    @property
    def dictates(self) -> str:
        """Name the kind of form that is to be dictated; empty: none."""
        return self.kind if self.kind in KINDS else "" if self.kind else self.form

    def dictated(self, profile: str) -> str:
        """Name the same for a patience, of which one is for digits whatever was asked."""
        return self.dictates or ("digits" if profile == "digits" else "")

    @staticmethod
    def parse(expects: str) -> Asked:
        """Read `Moment.expects`; a length may follow a colon, as in `digits:10`."""
        kind, _, length = expects.partition(":")
        return Asked(kind, int(length) if length.isdecimal() else 0)


def belief(
    probability: float | None,
    read: Reading | None,
    asked: Asked,
    voiced: float,
    weights: Weights | None = None,
    form: Form = "none",
) -> float:
    """Return how likely it is that the turn is over.

    `read` is None when there is no recogniser or its words are late; `voiced` is in seconds.
    """
    weights = weights or Weights()
    reading = read or Reading()
    odds = 0.0 if probability is None else _log_odds(probability)
    if voiced < weights.short_seconds and not _answers(reading, asked):
        odds += weights.short
        reading = Reading()  # a word made of so little is a guess
    odds += _from_ending(reading, asked, weights)
    odds += weights.missing if form == "due" else _from_asked(reading, asked, weights)
    believed = 1 / (1 + math.exp(-odds))
    beginning = reading.ending == "opener" and not _answers(reading, asked)
    wordless = read is not None and read.ending == "none"
    return min(believed, weights.opener_most) if beginning or wordless else believed


def together(probabilities: Sequence[float]) -> float:
    """Return the probability whose log-odds are the mean of those given."""
    odds = sum(_log_odds(each) for each in probabilities) / len(probabilities)
    return 1 / (1 + math.exp(-odds))


def series(reading: Reading) -> bool:
    """Return whether the text ends in a group of digits or letters; four digits are a year.

    All groups of a number sound alike to the detector, the last one too, so that its doubt is no
    reason to be more patient than with a pause of which nothing is known.
    """
    return reading.letters >= 3 or (reading.digits >= 3 and reading.digits != YEAR_DIGITS)


def owed(reading: Reading) -> bool:
    """Return whether grammar or hesitation promise another word, whatever the melody says."""
    return reading.ending in ("open", "filler")


def _answers(reading: Reading, asked: Asked) -> bool:
    """Return whether a word of agreement or refusal is all that was asked for."""
    return reading.answer and (asked.kind == "yes_no" or (asked.question and not asked.kind))


def _log_odds(probability: float) -> float:
    probability = min(max(probability, 1 - SURE), SURE)
    return math.log(probability / (1 - probability))


def _from_ending(reading: Reading, asked: Asked, weights: Weights) -> float:
    match reading.ending:
        case "open":
            return weights.open
        case "filler":
            return weights.filler
        case "leaning":
            return weights.leaning
        case "opener":
            return weights.answered if _answers(reading, asked) else weights.opener
        case "closing":
            return weights.closing
        case "plain":
            marks = {"question": weights.question, "dangling": weights.dangling}
            return marks.get(reading.mark, 0.0)
        case "none":
            return 0.0


def _from_asked(reading: Reading, asked: Asked, weights: Weights) -> float:
    """Weigh what is no name, number or spelling where one was asked for."""
    if not reading.words:
        return 0.0
    if asked.kind in ("name", *KINDS) and reading.ending == "opener":
        return weights.missing
    return weights.series if asked.dictates in ("digits", "spelling") else 0.0
