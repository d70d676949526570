"""What counts as a yes, and what as a no, in each language.

A deed hangs on it, so a yes is an allow-list of whole utterances: every word must belong to a
phrase that agrees, or to one that may stand beside it and changes nothing. Whatever else is in it
(a question, a condition, a number, another verb, a word nobody listed) makes it none, and whoever
asked asks again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from turn.languages import known_lists, lists

Verdict = Literal["yes", "no", "doubt", "other"]
"""`doubt`: leans to an answer, or nods, or was cut off, and says nothing else; `other`: says
something else."""

MOST_WORDS = 14
"""A plain yes is short; what is longer says more than that."""

Phrase = tuple[str, ...]
Phrases = frozenset[Phrase]


@dataclass(frozen=True, slots=True)
class YesWords:
    """The phrases of one language, as `words_of` gives them; turn/languages/en.toml explains."""

    yes: Phrases
    around: Phrases
    before: Phrases
    hedge: Phrases
    no: Phrases
    harmless: Phrases
    nods: Phrases
    strong: Phrases
    "those that agree by one word: what stands against a refusal"
    undo: tuple[str, ...] = ()
    acts: Mapping[str, Phrases] = field(default_factory=dict)

    def agreeing(self, question: str) -> Phrases:
        """Return what agrees to a question: a named deed counts where one of its kind was asked;
        without a question, any does."""
        asked = words_of(question)
        if any(word.startswith(self.undo) for word in asked):
            return self.yes
        named = (
            phrases
            for stem, phrases in self.acts.items()
            if not asked or any(word.startswith(stem) for word in asked)
        )
        return self.yes.union(*named)


NODS = ("backchannels", "fillers")
"""Lists of the floor whose words alone are no answer."""


@cache
def yes_words(language: str) -> YesWords | None:
    """Return the phrases of a language tag such as `en` or `en-US`; None: there are none."""
    found = lists(language)
    table = found.get("consent")
    if table is None:
        return None
    known_lists(language, table, set(YesWords.__slots__) - {"nods", "strong"})
    acts = {_fold(stem): _phrases(entries) for stem, entries in table["acts"].items()}
    nods = _phrases(entry for name in NODS for entry in found.get(name, ()))
    undo = tuple(_fold(stem) for stem in table["undo"])
    names = ("yes", "around", "before", "hedge", "no", "harmless")
    own = {name: _phrases(table[name]) for name in names}
    strong = own["yes"] & _phrases(found.get("answers", ()))
    return YesWords(**own, nods=nods, strong=strong, undo=undo, acts=acts)


def knows(language: str) -> bool:
    """Return whether there are words of consent for a language tag."""
    return yes_words(language) is not None


def words_of(text: str) -> Phrase:
    """Split into lower-case words without accents and punctuation; apostrophes vanish.

    Recognisers and people who type leave them out as they please (`lets`, `si`, `daccord`).
    """
    return tuple(re.findall(r"\w+", _fold(re.sub("['\u2019\u02bc]", "", text))))


def verdict(text: str, language: str = "en", question: str = "") -> Verdict:
    """Judge a caller's words as an answer to a yes-or-no question.

    Only `yes` is consent; a language without lists never gives it.
    """
    known = yes_words(language)
    if known is None:
        return "other"
    words = words_of(text)
    agreeing = known.agreeing(question)
    if _agrees(words, known, agreeing):
        return "doubt" if _asks(text, known) or _cut_off(text) else "yes"
    rest = _without(words, known.harmless)
    refused = _first(rest, known.no)
    if refused is not None:
        return _refusal(_first(rest, known.strong), refused)
    small = known.yes | known.around | known.before | known.hedge | known.nods
    return "doubt" if _covered(words, small) else "other"


def explicit_yes(text: str, language: str = "en", question: str = "") -> bool:
    """Return whether the caller agreed in so many words, and said nothing else."""
    return verdict(text, language, question) == "yes"


def _agrees(words: Phrase, known: YesWords, agreeing: Phrases) -> bool:
    """Return whether the words are a yes and nothing else, to their end."""
    if len(words) > MOST_WORDS or any(_holds(words, hedge) for hedge in known.hedge if hedge[1:]):
        return False
    last = agreeing | known.around
    # The states that the first `n` words can leave: (there was a yes, it may end here).
    states: list[set[tuple[bool, bool]]] = [{(False, False)}, *(set() for _ in words)]
    longest = max(map(len, last | known.before), default=0)
    for start in range(len(words)):
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            phrase = words[start:end]
            for agreed, _ in states[start]:
                if phrase in agreeing:
                    states[end].add((True, True))
                elif phrase in known.around:
                    states[end].add((agreed, True))
                elif phrase in known.before:
                    states[end].add((agreed, False))
    return (True, True) in states[-1]


def _asks(text: str, known: YesWords) -> bool:
    """Return whether some of it is a question; `sure, why not?` holds none."""
    asked = re.findall(r"([^,.;:!?\u00a1\u00bf\u2026]*)\?", text)
    return any(words_of(part) not in known.harmless for part in asked)


def _cut_off(text: str) -> bool:
    """Return whether the recogniser heard that more was to come."""
    return text.rstrip(" \"'\u201d\u201c").endswith((",", "..", "\u2026", "-", "\u2013", "\u2014"))


def _refusal(agreed: int | None, refused: int) -> Verdict:
    """Judge words that refuse, and perhaps agree as well, by what comes first and how close."""
    if agreed is None:
        return "no"
    if agreed < refused:  # "yeah, no" against "yes, I don't need a car"
        return "no" if refused == agreed + 1 else "other"
    return "other" if agreed == refused + 1 else "no"  # "no, yeah" against "no, that is correct"


def _fold(text: str) -> str:
    """Return a text in lower case, without accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in parts if not unicodedata.combining(each))


def _phrases(entries: Iterable[str]) -> Phrases:
    return frozenset(words_of(entry) for entry in entries)


def _holds(words: Phrase, phrase: Phrase) -> bool:
    return _first(words, frozenset((phrase,))) is not None


def _first(words: Phrase, phrases: Phrases) -> int | None:
    """Find where the earliest of the phrases begins."""
    text = " " + " ".join(words) + " "
    hits = [at for phrase in phrases if (at := text.find(f" {' '.join(phrase)} ")) >= 0]
    return text.count(" ", 1, min(hits) + 1) if hits else None


def _without(words: Phrase, phrases: Phrases) -> Phrase:
    text = " " + " ".join(words) + " "
    for phrase in sorted(phrases, key=len, reverse=True):
        text = text.replace(f" {' '.join(phrase)} ", " ")
    return tuple(text.split())


def _covered(words: Phrase, phrases: Phrases) -> bool:
    """Return whether the words are these phrases and nothing else."""
    reached = {0}
    for start in range(len(words)):
        if start in reached:
            longest = range(start + 1, len(words) + 1)
            reached |= {end for end in longest if words[start:end] in phrases}
    return len(words) in reached
