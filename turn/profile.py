"""How patient the agent is: a handful of numbers for each moment of a conversation.

A pause is answered after a silence that depends on how finished the turn sounds.
`docs/turn-taking.md` has the measurements that stand behind these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Means = Literal["silence", "semantic", "words"]
"""What is asked before a turn is ended: nothing, the semantic detector, and the words too."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Waits are seconds of silence after the last voiced sample; beliefs are probabilities."""

    name: str
    hear: float = 0.12
    """Silence after which the words are asked for: they need none, and take longer than the
    detector; in stop consonants and between syllables there is less."""
    ask: float = 0.20
    "silence after which the detector is asked: it was trained on about 0.2 s of silence"
    again: float = 0.50
    "silence after which the detector is asked a second time, where that can still change things"
    shortest: float = 0.20
    "silence that ends a turn which sounds finished; the answers' own time comes on top"
    unsure: float = 1.00
    "silence that ends a turn which just misses `end`"
    longest: float = 1.50
    "silence that ends a turn about which the evidence is even, or of which nothing is known"
    patience: float = 2.40
    "silence that ends a turn which sounds unfinished"
    draft: float = 0.40
    "belief at which work that can be thrown away may start: about every second one is used"
    end: float = 0.83
    "belief at which the turn ends after `shortest`"
    unfinished: float = 0.03
    "belief at and below which `patience` is had"
    habit: float = 1.20
    """How much longer than the longest pause before in this turn the next may be: of 39 recorded
    pauses that followed another, four of five were not longer. Bounded by `longest`."""
    stretch: float = 1.80
    "the same where the turn sounds unfinished: none of the 39 was longer; bounded by `most`"
    full: float = 0.45
    "silence that ends a form of which all was said: a telephone number, a date"
    dictated: float = 3.00
    "silence that ends one that owes more: people look up from a letter for up to 2.5 s"
    most: float = 4.00
    "silence that ends every turn"
    longest_draft: float = 20.0
    "seconds of a turn beyond which nothing is drafted: such turns seldom end where they seem to"
    means: Means = "words"

    def __post_init__(self) -> None:
        """Refuse numbers that contradict each other."""
        waits = (self.shortest, self.unsure, self.longest, self.patience, self.most)
        if not self.shortest <= self.full <= self.dictated <= self.most:
            raise ValueError(f"profile {self.name}: shortest <= full <= dictated <= most is needed")
        if list(waits) != sorted(waits) or self.ask < self.hear:
            raise ValueError(f"profile {self.name}: waits must not fall: {waits}")
        if not 0 <= self.unfinished < self.end <= 1 or not 0 <= self.draft <= self.end:
            raise ValueError(f"profile {self.name}: beliefs must be 0 <= draft <= end <= 1")

    def without(self, means: Means) -> Profile:
        """Return the same patience with fewer questions, for comparison."""
        return replace(self, means=means)

    @staticmethod
    def silence(seconds: float) -> Profile:
        """A plain silence timer, to compare with."""
        return Profile(
            f"silence-{seconds:g}",
            shortest=seconds,
            unsure=seconds,
            longest=seconds,
            patience=seconds,
            habit=0.0,
            stretch=0.0,
            full=seconds,
            dictated=seconds,
            most=seconds,
            means="silence",
        )


DEFAULT = Profile("default")

PROFILES = {
    profile.name: profile
    for profile in (
        # Yes or no, a choice of two, small talk: people answer in one breath.
        replace(
            DEFAULT,
            name="quick",
            unsure=0.6,
            longest=1.0,
            patience=1.6,
            dictated=2.4,
            most=2.4,
            draft=0.35,
            end=0.70,
        ),
        DEFAULT,
        # Stories and complaints, people who think as they speak, bad lines.
        replace(
            DEFAULT,
            name="patient",
            unsure=1.4,
            longest=2.0,
            patience=3.0,
            most=5.0,
            draft=0.50,
            end=0.92,
        ),
        # Numbers, spelling and addresses come in groups; read off a letter, the pauses between
        # them reach two seconds, and the melody falls at each of them.
        replace(
            DEFAULT,
            name="digits",
            unsure=1.5,
            longest=2.0,
            patience=3.0,
            most=5.0,
            draft=0.80,
            end=0.95,
        ),
    )
}


def profile(name: str) -> Profile:
    """Return the profile of a name; raises ValueError that lists what there is."""
    if name not in PROFILES:
        raise ValueError(f"profile {name!r}: unknown; there are {', '.join(PROFILES)}")
    return PROFILES[name]
