"""Which words sound when: by the voice's own times, or by proportion of how fast it speaks."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from gateway.events import Word

USUAL = 0.065
"""Seconds of sound a character takes before a voice's own pace is known: 150 words a minute."""

LEARNED_FROM = 20
"""Characters of which the pace is learned at least; a lone `Yes.` is spoken slowly."""

_WORD = re.compile(r"\s*\S+\s*")


class Pace:
    """How fast a voice speaks; one for all its utterances."""

    def __init__(self) -> None:
        self.seconds = USUAL

    def learn(self, characters: int, seconds: float) -> None:
        """Take what an utterance took; the latest count most, since texts differ."""
        if characters >= LEARNED_FROM and seconds > 0:
            self.seconds += 0.3 * (seconds / characters - self.seconds)


class SpokenText:
    """The text of one utterance, given out word by word with the sound it is in."""

    def __init__(self, rate: int, pace: Pace) -> None:
        self._rate = rate
        self._pace = pace
        self._words: deque[str] = deque()
        self._partial = ""
        self._samples = 0
        self._placed = 0.0
        "seconds up to which words were placed"
        self._characters = 0
        self.asked = False
        "there is something to say"

    @property
    def seconds(self) -> float:
        """Sound so far."""
        return self._samples / self._rate

    def add(self, text: str) -> None:
        """Take more of the text; what joins the words again is the text itself."""
        self.asked = self.asked or bool(text.strip())
        self._partial += text
        found = _WORD.findall(self._partial)
        if found and not self._partial[-1:].isspace():
            self._partial = found.pop()
        elif found:
            self._partial = ""
        self._words.extend(found)

    def whole(self) -> None:
        """Note that no more text comes."""
        if self._partial.strip():
            self._words.append(self._partial)
        elif self._words:
            self._words[-1] += self._partial
        self._partial = ""

    def sound(self, samples: int) -> tuple[str, tuple[Word, ...]]:
        """Take a piece of sound; give the text that begins in it, by proportion.

        Times count from the piece's first sample.
        """
        start = self.seconds
        self._samples += samples
        text: list[str] = []
        words: list[Word] = []
        while self._words and self._placed < self.seconds:
            written = self._words.popleft()
            until = self._placed + self._pace.seconds * len(written)
            words.append(Word(written.strip(), self._placed - start, until - start))
            text.append(written)
            self._placed = until
            self._characters += len(written)
        return "".join(text), tuple(words)

    def advance(self, samples: int) -> None:
        """Take a piece of sound whose words the voice places itself."""
        self._samples += samples

    def timed(self, times: Sequence[tuple[float, float]]) -> tuple[str, tuple[Word, ...]]:
        """Return the next words with the voice's own times, from the utterance's first sample."""
        text: list[str] = []
        words: list[Word] = []
        for begin, end in times:
            if not self._words:
                break
            written = self._words.popleft()
            words.append(Word(written.strip(), begin - self.seconds, end - self.seconds))
            text.append(written)
            self._placed = end
        return "".join(text), tuple(words)

    def end(self) -> tuple[str, tuple[Word, ...]]:
        """All sound was given: place what is left in what is left of it, and learn the pace.

        Times count from the end, so that they are below zero.
        """
        self.whole()
        total = self.seconds
        left = "".join(self._words)
        if self._characters + len(left) and total:
            self._pace.learn(self._characters + len(left), total)
        start = min(self._placed, total)
        step = (total - start) / max(1, len(left))
        words: list[Word] = []
        at = start - total
        while self._words:
            written = self._words.popleft()
            words.append(Word(written.strip(), at, at + step * len(written)))
            at += step * len(written)
        return left, tuple(words)
