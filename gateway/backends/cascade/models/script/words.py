"""A caller's words as a recogniser gives them, made comparable, and how much two of them differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_CLOCK = re.compile(r"\b([ap])\.\s?m\b\.?", re.IGNORECASE)
_WORD = re.compile(r"\d{1,2}:\d\d|\w+(?:'\w+)*", re.UNICODE)


def listed(text: str) -> tuple[str, ...]:
    """Split a list of words that is written as one text."""
    return tuple(text.split())


FILLERS = frozenset(listed("um uh er erm ah eh hm hmm mm oh huh well so like just"))
"""Sounds and words that carry nothing."""

POLITE = frozenset(
    listed(
        "please thanks thank you sure okay ok alright all right yes yeah yep hi hello hey and of"
        " course there good morning afternoon evening great fine no sorry i mean know"
    )
)
"""Words that are no answer to a question that wants a fact."""

HANGING = frozenset(
    listed(
        "a an the my your our his their and or but because about is was are were to of for with"
        " from at in on i we it its if that this um uh like kind sort which who will would could"
    )
)
"""Words that no sentence ends with: the caller was not done."""


@dataclass(frozen=True, slots=True)
class Words:
    """An utterance in words."""

    text: str
    norm: tuple[str, ...]
    "lower case, without apostrophes; clock times stay whole (`8:30`, `am`)"
    raw: tuple[str, ...]
    "the same words as they were written"

    @property
    def content(self) -> list[str]:
        """The words that say something."""
        return [word for word in self.norm if word not in FILLERS and word not in POLITE]

    @property
    def unfinished(self) -> bool:
        """It breaks off."""
        text = self.text.rstrip()
        if text.endswith((",", "...", "-", "…")):
            return True
        return bool(self.norm) and self.norm[-1] in HANGING and not text.endswith(("?", "!"))


def words(text: str) -> Words:
    """Split an utterance."""
    plain = _CLOCK.sub(r"\1m", text.replace("\u2019", "'"))
    raw = tuple(_WORD.findall(plain))
    return Words(text, tuple(word.lower().replace("'", "") for word in raw), raw)


@lru_cache(maxsize=4096)
def phrase(text: str) -> tuple[str, ...]:
    """Split a phrase of a script; `*` stands for up to three words."""
    return tuple(re.findall(r"\*|\d{1,2}:\d\d|\w+", text.lower().replace("'", "")))


def find(heard: Sequence[str], wanted: Sequence[str]) -> tuple[int, int] | None:
    """Find a phrase: the place of its first word, and the place after its last."""
    if not wanted or wanted[0] not in heard:  # nearly always; phrases begin with a word
        return None
    for start in range(len(heard)):
        end = _match(heard, start, wanted)
        if end is not None:
            return start, end
    return None


def find_any(heard: Sequence[str], phrases: Iterable[str]) -> tuple[int, int] | None:
    """Find the first of some phrases that is there; `=what` is there when it is all there is."""
    for each in phrases:
        hit = find(heard, phrase(each))
        if hit is not None and not (each.startswith("=") and _more(heard, hit)):
            return hit
    return None


def _more(heard: Sequence[str], hit: tuple[int, int]) -> bool:
    around = (*heard[: hit[0]], *heard[hit[1] :])
    return any(word not in FILLERS for word in around)


def _match(heard: Sequence[str], at: int, wanted: Sequence[str]) -> int | None:
    for n, word in enumerate(wanted):
        if word == "*":
            rest = wanted[n + 1 :]
            ends = (_match(heard, at + skip, rest) for skip in range(4))
            return next((end for end in ends if end is not None), None)
        if at >= len(heard) or heard[at] != word:
            return None
        at += 1
    return at


def distance(a: str, b: str, limit: int) -> int:
    """Count the letters to insert, drop or change; more than `limit` of them are `limit` + 1."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def likeness(a: str, b: str, least: float) -> float:
    """Return how alike two words are, 0 to 1; 0 when it is less than `least`."""
    longest = max(len(a), len(b), 1)
    limit = int(longest * (1 - least) + 1e-9)
    apart = distance(a, b, limit)
    return 0.0 if apart > limit else 1 - apart / longest
