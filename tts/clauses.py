"""Cuts a stream of tokens into clauses that can be spoken: the first one early, each one whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tts.plain import WORDS


@dataclass(frozen=True, slots=True)
class ClauseSettings:
    """Lengths in characters."""

    first: int = 12
    "the first clause may end at a comma from here on: three short words, about 0.6 s of sound"
    next: int = 40
    "later ones from here on: longer clauses have the better melody, and time is no longer short"
    longest: int = 220
    "a text without any mark is cut at a space: some 12 s of sound"


_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s")
_PAUSE = re.compile(r"[,;:—–][\"'”’)\]]*\s")


class ClauseCutter:
    """Takes tokens, gives clauses; what joins them again is the text itself."""

    def __init__(self, settings: ClauseSettings | None = None) -> None:
        self._settings = settings or ClauseSettings()
        self._text = ""
        self._given = 0

    def push(self, token: str) -> list[str]:
        """Take a token; give the clauses that are whole now."""
        self._text += token
        found = []
        while (end := self._boundary()) is not None:
            found.append(self._text[:end])
            self._text = self._text[end:]
            self._given += 1
        return found

    def flush(self) -> str:
        """Give what is left at the end of the text."""
        rest, self._text = self._text, ""
        return rest

    def _boundary(self) -> int | None:
        """Find where the next clause ends; a mark counts once the space after it is there."""
        least = self._settings.next if self._given else self._settings.first
        for found in _END.finditer(self._text):
            if not self._is_abbreviation(found.start()):
                return found.end()
        for found in _PAUSE.finditer(self._text):
            if found.start() >= least:
                return found.end()
        if len(self._text) > self._settings.longest:
            space = self._text.rfind(" ", 0, self._settings.longest)
            return space + 1 if space > 0 else self._settings.longest
        return None

    def _is_abbreviation(self, dot: int) -> bool:
        """Say whether a full stop belongs to the word before it: `Dr.`, `a.m.`, `J.`."""
        if self._text[dot] != "." or self._text[dot : dot + 2] == "..":
            return False
        word = self._text[: dot + 1].split()[-1].lstrip("([\"'“‘").lower()
        initial = len(word) == 2 and word[0].isalpha() and word != "i."
        if word in ("a.m.", "p.m."):
            after = self._text[dot + 1 :].lstrip()
            return not after or after[0].islower()
        return word in WORDS or initial
