"""Cuts a stream of tokens into clauses that can be spoken: the first one early, each one whole.

A machine: what it decides depends on the text alone, not on how it was cut into tokens, and it
decides as soon as the next visible character is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tts.english import ENGLISH
from tts.normalise import Language


@dataclass(frozen=True, slots=True)
class ClauseSettings:
    """How long clauses are."""

    first_words: int = 3
    "the first may end at a comma from here on: about 0.8 s of sound, more than the next one takes"
    next_words: int = 10
    "later ones from here on: whole sentences have the better melody, and time is no longer short"
    joint_words: int = 8
    "the first ends before an `and` or a `because` from here on, where no comma came"
    longest: int = 220
    "characters after which any space will do: some 14 s of sound"


AHEAD = 16
"""Characters past the longest clause that are looked at before one is cut by force; a word before
which one may breathe, and the letter after it, lie within."""

_MARK = re.compile(r"(?P<mark>[.!?…]+|[,;:—–]|\n)(?P<close>[\"'”’)\]*_]*)(?P<space>\s+|(?<=\n))")
_WORD = re.compile(r"[^\W_]+(?:[^\w\s]+[^\W_]+)*")
_LAST = re.compile(r"\S*$")
_NUMBERING = re.compile(r"[^\w]*[0-9]{1,3}\.$")


class ClauseCutter:
    """Takes tokens, gives clauses; what joins them again is the text itself."""

    def __init__(
        self, settings: ClauseSettings | None = None, language: Language = ENGLISH
    ) -> None:
        """Begin a text."""
        self._settings = settings or ClauseSettings()
        self._language = language
        self._joint = re.compile(rf"\s(?=(?:{'|'.join(sorted(language.joints))})\s\S)")
        self._text = ""
        self._first = True

    def push(self, token: str) -> list[str]:
        """Take the next token; give the clauses that are whole by now."""
        self._text += token
        return list(self._cut(ended=False))

    def flush(self) -> list[str]:
        """End the text and give what is left of it."""
        clauses = list(self._cut(ended=True))
        if self._text:
            clauses.append(self._text)
        self._text = ""
        self._first = True
        return clauses

    def whole(self, text: str) -> list[str]:
        """Cut a text that is there already."""
        return [*self.push(text), *self.flush()]

    def _cut(self, *, ended: bool) -> Iterator[str]:
        while (end := self._end(ended)) is not None:
            clause, self._text = self._text[:end], self._text[end:]
            self._first = self._first and not _WORD.search(clause)
            yield clause

    def _end(self, ended: bool) -> int | None:
        """Find where the next clause ends; None: that cannot be told yet, or it is the last."""
        longest = self._settings.longest
        text = self._text[: longest + AHEAD]
        for place in self._places(text):
            if place > longest:
                break
            if place == len(text) and not ended:
                return None  # what follows decides
            if place < len(text) and self._ends_clause(text[:place], text[place]):
                return place
        enough = len(text) == longest + AHEAD or (ended and len(text) > longest)
        return self._forced(text[:longest]) if enough else None

    def _places(self, text: str) -> list[int]:
        """Return the places where a clause may end, in order: after the space behind a mark."""
        places = {match.end() for match in _MARK.finditer(text)}
        if self._first:
            places |= {match.end() for match in self._joint.finditer(text)}
        return sorted(places)

    def _ends_clause(self, before: str, after: str) -> bool:
        """Decide about one place, with the character that follows it."""
        words = len(_WORD.findall(before))
        if words == 0:
            return False
        match = _last_mark(before)
        if match is None:
            return words >= self._settings.joint_words
        mark, last = match["mark"], _LAST.search(before[: match.end("mark")])
        assert last is not None
        if mark == "\n":
            return True
        if mark[0] in ".!?…":
            return mark != "." or self._ends_sentence(before[: match.end("mark")], last[0], after)
        enough = self._settings.first_words if self._first else self._settings.next_words
        return words >= enough and not _belongs_together(last[0], after)

    def _ends_sentence(self, before: str, last: str, after: str) -> bool:
        """Return whether a single full stop ends a sentence, and not a short form or a number."""
        form = last.lstrip("\"'“‘(*_").lower()
        if after.islower() or _NUMBERING.fullmatch(before.strip()):
            return False
        if re.fullmatch(r"[a-z]\.", form) and form != "i.":
            return False  # an initial
        if form in self._language.abbreviations:
            return form in self._language.endings and after.isupper()
        return True

    def _forced(self, head: str) -> int:
        """Cut a text that has no good place: at the last mark that may be, else at a space."""
        for match in reversed([each for each in _MARK.finditer(head) if each.end() < len(head)]):
            last = _LAST.search(head[: match.end("mark")])
            if last and not _belongs_together(last[0], head[match.end()]):
                return match.end()
        spaces = [each.end() for each in re.finditer(r"\s+", head)]
        return spaces[-1] if spaces else len(head)


def _last_mark(before: str) -> re.Match[str] | None:
    """Find the mark that stands right at the end, with its space."""
    found = None
    for match in _MARK.finditer(before):
        found = match
    return found if found is not None and found.end() == len(before) else None


def _belongs_together(last: str, after: str) -> bool:
    """Return whether a comma stands inside something: a date, a row of numbers, a spelled name."""
    word = last.rstrip(",;:—–")
    return (word[-1:].isdigit() and after.isdigit()) or (len(word) == 1 and after.isalnum())
