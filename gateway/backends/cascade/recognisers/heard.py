"""What a streaming recogniser has heard so far: words at positions of the caller's stream.

A pure ledger: vendors' messages are written into it, stretches of the stream are read from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

BEFORE = 0.3
"""Seconds before a turn's first voiced sample in which its first word may lie: soft onsets are
found late, and recognisers place words to within a few hundredths of a second."""

AFTER = 0.25
"""Seconds after its last voiced sample; soft endings are lost early."""

KEPT_WORDS = 2000
"""Words that are remembered: ten minutes of a fast speaker, and turns are read when they end."""


@dataclass(frozen=True, slots=True)
class HeardWord:
    """One word, by samples of the caller's stream."""

    text: str
    start: int
    end: int

    @property
    def middle(self) -> int:
        """Where it belongs, when a stretch is cut."""
        return (self.start + self.end) // 2


class HeardWords:
    """The words of one caller; final ones stay, the others are replaced by what comes."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._final: list[HeardWord] = []
        self._open: tuple[HeardWord, ...] = ()
        self._read = 0
        "up to here turns were read: no word belongs to two of them"
        self._last = (0, 0)
        self.processed = 0
        "position up to which the recogniser has listened"
        self.settled = 0
        "position up to which nothing will change, so that it need not be heard again"

    @property
    def text(self) -> str:
        """Return what is not final yet."""
        return joined(self._open)

    def replace(self, words: Iterable[HeardWord], processed: int) -> None:
        """Take the words of the part that is still open, all of them."""
        self._open = tuple(words)
        self.processed = max(self.processed, processed)

    def settle(self, words: Iterable[HeardWord], processed: int) -> None:
        """Take words that will not change; nothing before `processed` will."""
        self._final += [word for word in words if word.middle >= self.settled]
        del self._final[:-KEPT_WORDS]
        self._open = ()
        self.processed = max(self.processed, processed)
        self.settled = max(self.settled, processed)

    def quiet(self, position: int) -> None:
        """Note that nothing was said up to here."""
        if not self._open:
            self.settled = max(self.settled, position)

    def lost(self) -> None:
        """The connection broke: what was not final must be heard again."""
        self._open = ()
        self.processed = self.settled

    def between(self, start: int, end: int) -> str:
        """Return the words of [start, end); parts of one turn that follow each other share none."""
        if start != self._last[0] and start >= self._last[1]:
            self._read = max(self._read, self._last[1])
        self._last = (start, end) if start != self._last[0] else (start, max(end, self._last[1]))
        least = max(start - int(BEFORE * self._rate), min(self._read, start))
        most = end + int(AFTER * self._rate)
        words = [*self._final, *self._open]
        return joined(word for word in words if least <= word.middle < most)


def joined(words: Iterable[HeardWord]) -> str:
    """Write words as a text."""
    return " ".join(word.text for word in words)


def spread(text: str, start: int, end: int) -> tuple[HeardWord, ...]:
    """Place words of which only the stretch is known, evenly."""
    words = text.split()
    step = (end - start) / max(1, len(words))
    return tuple(
        HeardWord(word, int(start + n * step), int(start + (n + 1) * step))
        for n, word in enumerate(words)
    )
