"""What is dictated in groups: a telephone number, a spelling, a date, an address, an e-mail.

Each group sounds finished, so that neither melody nor grammar of sentences tells the last one.
The form does: three digits are no telephone number, a month is no date, and a number that is whole
needs no further wait.
Recognisers write digits and letters as words that sound alike; where digits are due, those count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from typing import Any, Literal

from turn import languages
from turn.words import Lexicon, Phrase, over, split

Form = Literal["none", "due", "part", "whole"]
"""How much of a form was said: none is looked for, one is due, a part was said, or the whole."""

KINDS = ("phone", "digits", "spelling", "date", "birth_date", "address", "email")
"""What is dictated, as `Moment.expects` names it."""

DOMAINS = frozenset(
    (
        *("com", "org", "net", "edu", "gov", "info", "biz", "io", "eu"),
        *("us", "uk", "ca", "au", "de", "at", "ch", "fr", "es", "pt", "br", "it", "nl", "be"),
    )
)

GROUPS = (3, 6)
"""Digits after which a telephone number often pauses, and few other numbers are over."""

SAME_NAME = 0.8
"""How alike a name and its spelling are; recognisers miss one letter in five on the telephone."""

FIRST_WORDS = 4
"""A spelling, a day or an e-mail address may begin with so many words that tell nothing yet."""


@dataclass(frozen=True, slots=True)
class Forms:
    """How forms are said in one language."""

    telephone: tuple[int, ...] = ()
    "digits of whole telephone numbers"
    postcode: int = 0
    "digits that an address ends with; 0: it ends otherwise"
    letter_sounds: frozenset[str] = frozenset()
    "words that names of letters are taken for"
    tens: frozenset[str] = frozenset()
    "numbers of two digits after which a third word may name the second digit: `twenty`"
    teens: frozenset[str] = frozenset()
    "those that are said in one word: `twelve`"
    repeats: Mapping[str, int] = field(default_factory=dict)
    "how often the next digit is said: `double` is 2"
    joints: frozenset[str] = frozenset()
    "said between groups: `dash`"
    examples: frozenset[Phrase] = frozenset()
    "a word follows that stands for its first letter: `as in`"
    months: frozenset[str] = frozenset()
    days: frozenset[str] = frozenset()
    "ordinals of days"
    weekdays: frozenset[str] = frozenset()
    "days that need no date"
    at: frozenset[str] = frozenset()
    dot: frozenset[str] = frozenset()
    gives: frozenset[Phrase] = frozenset()
    "what a caller says before their telephone number"
    asks: Mapping[str, frozenset[Phrase]] = field(default_factory=dict)
    "words of a question that asks for a form, by its kind"


@cache
def forms(language: str) -> Forms:
    """Return the forms of a language, none where its file has none."""
    table = dict(languages.lists(language).get("forms", {}))
    known = {"telephone", "postcode", "repeats", "asks", "gives", "examples"}
    languages.known_lists(language, table, {*known, *_WORDS})
    words: dict[str, Any] = {name: frozenset(table.get(name, ())) for name in _WORDS}
    asks = {kind: _phrases(found) for kind, found in table.get("asks", {}).items()}
    languages.known_lists(language, asks, set(KINDS))
    return Forms(
        telephone=tuple(table.get("telephone", ())),
        postcode=table.get("postcode", 0),
        repeats=table.get("repeats", {}),
        examples=_phrases(table.get("examples", ())),
        gives=_phrases(table.get("gives", ())),
        asks=asks,
        **words,
    )


def spoken(words: Sequence[str]) -> int:
    """Count words as they are said: each figure is one."""
    return sum(max(1, sum(letter.isdecimal() for letter in word)) for word in words)


def asked_for(question: str, known: Forms) -> str:
    """Name the kind of form that a question asks for; empty: none."""
    words = split(question)
    return next((kind for kind in KINDS if _holds(words, known.asks.get(kind, frozenset()))), "")


def form(text: str, kind: str, length: int, lists: Lexicon, known: Forms) -> Form:
    """Return how much of a form of a kind was said, with which the text ends.

    `length`: digits or letters that are wanted, 0: not known; without a kind only a number that
    the caller announces is known to be one.
    """
    words = split(text)
    if not words or text.rstrip().endswith("?") or over(words, lists):
        return "none"
    said = _Said(words, lists, known)
    match kind:
        case "phone":
            return said.telephone(len(words))
        case "digits":
            return said.number(length)
        case "spelling":
            return said.spelling(length)
        case "date" | "birth_date":
            return said.date(year=kind == "birth_date")
        case "address":
            return said.address()
        case "email":
            return said.email(text)
        case _:
            after = _after(words, known.gives)
            return said.telephone(after) if after else said.groups()


class _Said:
    """Words, read as the groups of a form."""

    def __init__(self, words: Sequence[str], lists: Lexicon, known: Forms) -> None:
        self._words = words
        self._lists = lists
        self._known = known

    def telephone(self, within: int) -> Form:
        digits = self._digits(within)
        if digits is None or not self._known.telephone:
            return "due"
        count, first = digits
        international = first == "1" and min(self._known.telephone) == count
        if count in self._known.telephone and not international:
            return "whole"
        return "part" if count < max(self._known.telephone) else "none"

    def groups(self) -> Form:
        """Read what nobody asked for: a turn of three or six digits alone goes on."""
        alone = all(self._worth(word) or word in self._known.joints for word in self._words)
        digits = self._digits(len(self._words)) if alone else None
        return "part" if digits is not None and digits[0] in GROUPS else "none"

    def number(self, length: int) -> Form:
        digits = self._digits(len(self._words))
        if digits is None:
            return "due"
        if length:
            return "whole" if digits[0] >= length else "part"
        return "part" if digits[0] == 1 else "none"

    def spelling(self, length: int) -> Form:
        begin, letters = self._letters()
        if not letters:
            return "part" if len(self._words) <= FIRST_WORDS else "due"
        if length and len(letters) >= length:
            return "whole"
        names = [word for word in self._words[:begin][-3:] if len(word) > 2]
        return "whole" if any(_alike(name, letters) for name in names) else "part"

    def date(self, *, year: bool) -> Form:
        known, words = self._known, self._words
        month = next((index for index, word in enumerate(words) if word in known.months), None)
        days = [index for index, word in enumerate(words) if self._is_day(word)]
        if month is None:
            named = any(word in known.weekdays for word in words)
            return "none" if named else "part" if days and len(words) <= FIRST_WORDS else "due"
        day = any(abs(index - month) <= 3 for index in days)
        if not day:
            return "part"
        if not year:
            return "whole"
        long = any(word.isdecimal() and len(word) == 4 for word in words)
        tail = self._run(len(words))
        return "whole" if long or (tail is not None and tail[0] >= 4) else "part"

    def address(self) -> Form:
        tail = self._run(len(self._words))
        wanted = self._known.postcode
        if wanted and tail is not None and tail[0] == wanted and tail[1] < len(self._words):
            return "whole"
        counts = any(word.isdecimal() or self._worth(word) for word in self._words)
        return "part" if counts else "due"

    def email(self, text: str) -> Form:
        words, known = self._words, self._known
        dotted = text.lower().rstrip(" .,!").rpartition(".")
        written = bool(dotted[0]) and not dotted[0][-1].isspace() and dotted[2] in DOMAINS
        spoken = len(words) > 1 and words[-2] in known.dot and words[-1] in DOMAINS
        where = "@" in text or any(word in known.at for word in words)
        if where and (written or spoken):
            return "whole"
        begun = where or written or any(word in known.dot for word in words)
        return "part" if begun or len(words) <= FIRST_WORDS else "due"

    # --- parts -----------------------------------------------------------------------------------

    def _is_day(self, word: str) -> bool:
        if word in self._known.days:
            return True
        number = word.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
        if number.isdecimal():
            return 1 <= int(number) <= 31
        return bool(self._worth(word))

    def _worth(self, word: str) -> int:
        """Return how many digits a word stands for; 0: it is none."""
        if figures := sum(letter.isdecimal() for letter in word):
            return figures
        if (word,) in self._lists.digits:
            return 1
        return 2 if word in self._known.tens or word in self._known.teens else 0

    def _digits(self, within: int) -> tuple[int, str] | None:
        """Count the digits from the first of the last `within` words on, and give that word.

        A word after digits that is none is one misheard.
        """
        words = self._words[len(self._words) - within :]
        begin = next((index for index, word in enumerate(words) if self._worth(word)), None)
        return None if begin is None else (self._count(words[begin:], misheard=True), words[begin])

    def _run(self, within: int) -> tuple[int, int] | None:
        """Count the digits that the text ends with, and the words they take."""
        words = self._words[len(self._words) - within :]
        length = 0
        for word in reversed(words):
            if not self._worth(word) and word not in self._known.joints:
                break
            length += 1
        return (self._count(words[-length:], misheard=False), length) if length else None

    def _count(self, words: Sequence[str], *, misheard: bool) -> int:
        known, count, times, ten = self._known, 0, 1, False
        for word in words:
            worth = self._worth(word)
            if word in known.repeats:
                times = known.repeats[word]
            elif not worth and (word in known.joints or (word,) in self._lists.fillers):
                continue
            elif ten and worth == 1:
                ten = False  # `twenty two` are two digits
            elif worth or misheard:
                ten = word in known.tens
                count += times * max(worth, 1)
                times = 1
        return count

    def _letters(self) -> tuple[int, str]:
        """Return where the letters begin that the text ends with, and the letters."""
        known, letters, index = self._known, "", len(self._words)
        while index > 0:
            word = self._words[index - 1]
            example = next(
                (
                    len(phrase) + 1
                    for phrase in known.examples
                    if tuple(self._words[max(0, index - 1 - len(phrase)) : index - 1]) == phrase
                ),
                0,
            )
            if example and index - 1 - example >= 0:
                index -= example
                continue
            if len(word) > 1 and word not in known.letter_sounds:
                break
            letters = (word if len(word) == 1 else word[0]) + letters
            index -= 1
        return index, letters


def _alike(name: str, letters: str) -> bool:
    close = abs(len(name) - len(letters)) <= 2 and name[-1] == letters[-1]
    return close and SequenceMatcher(None, name, letters).ratio() >= SAME_NAME


def _after(words: Sequence[str], phrases: frozenset[Phrase]) -> int:
    """Count the words after the last of some phrases; 0: there is none, or it ends the text."""
    found = 0
    for phrase in phrases:
        for index in range(len(words) - len(phrase)):
            if tuple(words[index : index + len(phrase)]) == phrase:
                after = len(words) - index - len(phrase)
                found = after if not found else min(found, after)
    return found


def _holds(words: Sequence[str], phrases: frozenset[Phrase]) -> bool:
    return any(
        tuple(words[index : index + len(phrase)]) == phrase
        for phrase in phrases
        for index in range(len(words) - len(phrase) + 1)
    )


def _phrases(entries: Sequence[str]) -> frozenset[Phrase]:
    return frozenset(tuple(split(entry)) for entry in entries)


_WORDS = (
    "letter_sounds",
    "tens",
    "teens",
    "joints",
    "months",
    "days",
    "weekdays",
    "at",
    "dot",
)
