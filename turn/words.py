"""What the words of a pause tell about the floor: sounds unfinished, rounded off, or a mere nod.

The lists are data, one file a language in `turn/languages`; without a file there is no evidence.
Words come from a recogniser that hears half a turn over a telephone, so they are weighed, never
believed: what was mostly invented (more words than the sound has room for) counts as none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Literal

from turn import languages

Phrase = tuple[str, ...]

Ending = Literal["open", "leaning", "filler", "opener", "closing", "plain", "none"]
"""How a text ends: `open` (the next word is owed), `leaning` (probably owed), `filler` (thinking),
`opener` (nothing but "yes", "well", ...), `closing` ("thanks"), `plain`, `none` (no words)."""

Mark = Literal["question", "stop", "comma", "dangling", "none"]
"""How the recogniser punctuated the end, which is what it made of the melody."""

WORDS_A_SECOND = 6.0
"""Fast speech has about six words a second (conversational English: 3 to 4 on average)."""

WORDS_SPARE = 2
"""Words allowed beyond that: the edges of what was heard are uncertain by a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The word lists of one language; each entry is a sequence of words."""

    open_words: frozenset[Phrase] = frozenset()
    leaning_words: frozenset[Phrase] = frozenset()
    open_phrases: frozenset[Phrase] = frozenset()
    closed_phrases: frozenset[Phrase] = frozenset()
    closing_phrases: frozenset[Phrase] = frozenset()
    fillers: frozenset[Phrase] = frozenset()
    openers: frozenset[Phrase] = frozenset()
    backchannels: frozenset[Phrase] = frozenset()
    claims: frozenset[Phrase] = frozenset()
    answers: frozenset[Phrase] = frozenset()
    digits: frozenset[Phrase] = frozenset()
    articles: frozenset[Phrase] = frozenset()
    recorded: frozenset[Phrase] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text tells."""

    ending: Ending = "none"
    mark: Mark = "none"
    words: int = 0
    answer: bool = False
    "the whole text is an answer to a yes-or-no question"
    digits: int = 0
    "digits in the run of digits the text ends with"
    letters: int = 0
    "single letters in the run of letters the text ends with"


Nod = Literal["backchannel", "hesitation", "claim", "words", "garbled", "none"]
"""What words over the agent's voice are: nothing but acknowledgement, nothing but thinking aloud, a
claim to the floor by its first words, other words, more words than fit, or none."""


@cache
def lexicon(language: str) -> Lexicon:
    """Return the lists of a language (`en`, `en-US`, ...), empty ones where there is no file."""
    found = {
        name: entries
        for name, entries in languages.lists(language).items()
        if name not in ("consent", "forms")
    }
    languages.known_lists(language, found, {field.name for field in fields(Lexicon)})
    return Lexicon(**{key: frozenset(tuple(split(entry)) for entry in found[key]) for key in found})


def split(text: str) -> list[str]:
    """Return the words of a text, lower case, without punctuation."""
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower().replace("’", "'"))


def plausible(text: str, seconds: float) -> bool:
    """Return whether so many words fit into so much voiced sound."""
    return len(_steady(split(text))) <= WORDS_SPARE + WORDS_A_SECOND * seconds


def read(text: str, lists: Lexicon) -> Reading:
    """Read what a text, heard up to a pause, tells about its end."""
    words = split(text)
    if not words:
        return Reading()
    return Reading(
        ending=_ending(words, lists),
        mark=_mark(text),
        words=len(words),
        answer=_covered(words, lists.answers),
        digits=_digits(words, lists),
        letters=_run(words, lambda word: len(word) == 1 and word.isalpha()),
    )


def nod(text: str, seconds: float, lists: Lexicon) -> Nod:
    """Read what words heard in `seconds` of voice over the agent's want."""
    words = _steady(split(text))
    if not words:
        return "none"
    if not plausible(text, seconds):
        return "garbled"
    if _covered(words, lists.fillers):
        return "hesitation"
    if _covered(words, lists.backchannels | lists.fillers):
        return "backchannel"
    while length := _starts(words, lists.backchannels | lists.fillers):
        words = words[length:]
    return "claim" if _starts(words, lists.claims) else "words"


def over(words: list[str], lists: Lexicon) -> bool:
    """Return whether words say nothing but yes or no, or round something off."""
    return _covered(words, lists.openers | lists.answers) or _ends(words, lists.closing_phrases)


def recorded(text: str, lists: Lexicon) -> bool:
    """Return whether words are those of an answering machine's greeting; people do not say them."""
    words = split(text)
    return any(_starts(words[at:], lists.recorded) for at in range(len(words)))


def distinct(text: str) -> int:
    """Count the different words of a text."""
    return len(set(split(text)))


def _ending(words: list[str], lists: Lexicon) -> Ending:
    if _ends(words, lists.fillers):
        return "filler"
    if _covered(words, lists.openers | lists.fillers | lists.answers):
        return "opener"
    if _ends(words, lists.closing_phrases):
        return "closing"
    if _ends(words, lists.closed_phrases):
        return "plain"
    if _counts(words, lists) or _ends(words, lists.open_words) or _ends(words, lists.open_phrases):
        return "open"
    if _ends(words, lists.leaning_words):
        return "leaning"
    return "plain"


def _counts(words: list[str], lists: Lexicon) -> bool:
    """Return whether a text ends on a number that counts or dates what is to come: `a 2018`."""
    number = len(words) > 1 and words[-1].isdecimal() and len(words[-1]) > 1
    return number and (words[-2],) in lists.articles


def _mark(text: str) -> Mark:
    tail = text.rstrip(" \"'")
    if tail.endswith(("...", "…", "-", "—")):
        return "dangling"
    if tail.endswith("?"):
        return "question"
    if tail.endswith((".", "!")):
        return "stop"
    return "comma" if tail.endswith(",") else "dangling"


def _digits(words: list[str], lists: Lexicon) -> int:
    """Count the digits the text ends with, said one by one or written as a number."""
    count = 0
    for word in reversed(words):
        if word.isdecimal():
            count += len(word)
        elif (word,) in lists.digits:
            count += 1
        else:
            break
    return count


def _run(words: list[str], wanted: Callable[[str], bool]) -> int:
    count = 0
    for word in reversed(words):
        if not wanted(word):
            break
        count += 1
    return count


def _ends(words: list[str], phrases: frozenset[Phrase]) -> bool:
    return any(tuple(words[-length:]) in phrases for length in range(1, min(5, len(words)) + 1))


def _starts(words: list[str], phrases: frozenset[Phrase]) -> int:
    """Return the length of the longest phrase the words begin with, 0 for none."""
    lengths = range(min(5, len(words)), 0, -1)
    return next((length for length in lengths if tuple(words[:length]) in phrases), 0)


def _covered(words: list[str], phrases: frozenset[Phrase]) -> bool:
    while words:
        length = _starts(words, phrases)
        if not length:
            return False
        words = words[length:]
    return True


def _steady(words: list[str]) -> list[str]:
    """Drop immediate repetitions: recognisers stutter on a fraction of a second."""
    kept: list[str] = []
    for word in words:
        kept.append(word)
        for length in range(1, len(kept) // 2 + 1):
            if kept[-length:] == kept[-2 * length : -length]:
                del kept[-length:]
                break
    return kept
