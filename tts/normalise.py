"""Turns written text into what a voice says, and remembers which words stand for which writing.

`$12.50` is said with six words and `AB12` with four; when the caller cuts in, what they heard is
told in the writing of the one who wrote it, so that each piece keeps its own stretch of the text.
What a number, a date or a code sounds like is a language's to know (`tts.english`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

PAUSES = ".?!;:,"
"""Marks that a voice makes audible, the strongest first."""

MARKS: Mapping[str, str] = {
    "…": ",",
    "—": ",",
    "–": ",",
    "(": "",
    ")": ",",
    "\u3002": ".",
    "\uff0c": ",",
    "\uff1f": "?",
    "\uff01": "!",
    "¿": "",
    "¡": "",
} | {mark: mark for mark in PAUSES}
"""What is heard at a mark; what is not listed is not heard at all."""

_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[^\W\d_]+(?:['’\-‑][^\W\d_]+)*|[^\W_]+")
"""A word, with its apostrophes and hyphens (`it's`, `walk-in`), else any other signs together."""


@dataclass(frozen=True, slots=True)
class Said:
    """A stretch of writing and how it is said."""

    written: str
    "with its punctuation, without the space around it"
    words: tuple[str, ...]
    "as spoken; a letter that is named has a full stop (`A.`); empty: nothing is said"
    pause: str = ""
    "what is heard after it: one of `PAUSES`, or nothing"
    glued: bool = False
    "written without a space before it"


@dataclass(frozen=True, slots=True)
class Part:
    """What a rule makes of the text from the last part's end up to `end`."""

    end: int
    "position in the text"
    say: str
    "words with spaces between"
    pause: str = ""


Reading = Callable[[re.Match[str]], Sequence[Part] | None]
"""Says how to read a match; None: it is not what the pattern was looking for."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How a language reads one kind of thing."""

    pattern: re.Pattern[str]
    "tried wherever a word may begin"
    read: Reading


@dataclass(frozen=True, slots=True)
class Language:
    """Everything a language knows about reading aloud."""

    rules: tuple[Rule, ...]
    "the first that fits wins"
    symbols: Mapping[str, str]
    "characters that are said, and how"
    abbreviations: frozenset[str]
    "in lower case, with their full stop, which ends no sentence"
    endings: frozenset[str]
    "of these, the ones that may end a sentence all the same: `a.m.`, `etc.`"
    joints: frozenset[str]
    "words before which one may take a breath"


def normalise(text: str, language: Language) -> tuple[Said, ...]:
    """Read a text: all of its writing, in order, and the words for it.

    Never fails; whatever has a letter or a digit in it has words.
    """
    reader = _Reader(text, language)
    while reader.at < len(text):
        reader.step()
    return reader.finish()


def spoken(said: Sequence[Said]) -> str:
    """Write down what is said, words and pauses, as one line."""
    return " ".join(" ".join(each.words) + each.pause for each in said if each.words)


def heard(said: Sequence[Said], words: int) -> str:
    """Return the writing of which every word is among the first so many spoken ones."""
    written = ""
    for each in said:
        words -= len(each.words)
        if words < 0:
            break
        written += each.written if each.glued or not written else f" {each.written}"
    return written


class _Reader:
    """Walks through a text; knows what was read and what still belongs to the next piece."""

    def __init__(self, text: str, language: Language) -> None:
        self.at = 0
        self._text = text
        self._language = language
        self._said: list[Said] = []
        self._before = ""
        "marks that open what comes next"
        self._glued = False

    def step(self) -> None:
        """Read one more thing."""
        space = _SPACE.match(self._text, self.at)
        assert space is not None
        if space[0]:
            self._glued = False
            self._before += space[0] if self._before else ""
            self.at = space.end()
            return
        if not self._rule() and not self._word():
            self._mark(self._text[self.at])

    def finish(self) -> tuple[Said, ...]:
        """Return everything, with the marks at the end that nothing followed."""
        if rest := self._before.rstrip():
            if self._said:
                self._said[-1] = replace(self._said[-1], written=f"{self._said[-1].written} {rest}")
            else:
                self._said.append(Said(rest, ()))
        return tuple(self._said)

    def _rule(self) -> bool:
        """Read by the first rule that fits; say whether there was one."""
        for rule in self._language.rules:
            match = rule.pattern.match(self._text, self.at)
            if match is None or match.end() == self.at:
                continue
            parts = rule.read(match)
            if parts:
                self._take(parts, match.end())
                return True
        return False

    def _take(self, parts: Sequence[Part], end: int) -> None:
        last = len(parts) - 1
        for number, part in enumerate(parts):
            stop = end if number == last else part.end
            self._add(self._text[self.at : stop], part.say, part.pause)
            self.at = stop

    def _word(self) -> bool:
        match = _WORD.match(self._text, self.at)
        if match is None:
            return False
        self._add(match[0], match[0].replace("’", "'").replace("‑", "-"))
        self.at = match.end()
        return True

    def _mark(self, mark: str) -> None:
        """Read a character that is no word: said, heard as a pause, or passed over."""
        self.at += 1
        if name := self._language.symbols.get(mark, ""):
            self._add(mark, name)
        elif self._said and not self._before and (self._glued or mark in MARKS):
            last = self._said[-1]
            written = last.written + mark if self._glued else f"{last.written} {mark}"
            self._said[-1] = replace(last, written=written, pause=_stronger(last.pause, mark))
        else:
            self._before += mark

    def _add(self, written: str, say: str, pause: str = "") -> None:
        """Put a piece at the end."""
        glued = self._glued and not written[:1].isspace() and bool(self._said)
        self._said.append(
            Said(self._before + written.strip(), tuple(say.split()), pause, glued=glued)
        )
        self._before = ""
        self._glued = not written[-1:].isspace()


def _stronger(pause: str, mark: str) -> str:
    """Return the pause of the two that is heard: a full stop outweighs a comma."""
    other = MARKS.get(mark, "")
    both = [each for each in PAUSES if each in (pause, other)]
    return both[0] if both else ""
