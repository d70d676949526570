"""Word times of any recogniser, to hear recorded calls with: a line a word, as JSON.

    {"call": "CA29…", "word": "Wednesday,", "start": 5.7, "end": 6.4}

Times are seconds of the call's sound; `call` may be left out in a file for one call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec


class Word(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the file."""

    word: str
    start: float
    end: float
    call: str = ""
    at: float | None = None
    "when the recogniser gave it, where that is known: its delay is `at` less `end`"


class WordsError(ValueError):
    """A file of words is not as it should be; its text is for the operator."""


@dataclass(frozen=True, slots=True)
class WordTimes:
    """The words of one call, by their ends."""

    words: tuple[Word, ...]

    def text(self, start: float, end: float) -> str:
        """Return the words that were said in a stretch of sound."""
        inside = (w for w in self.words if w.start >= start - 0.15 and w.end <= end + 0.05)
        return " ".join(w.word.strip() for w in inside)

    def ready(self, start: float, end: float) -> float | None:
        """Return when all of them were known; None where the file does not say."""
        inside = [w for w in self.words if start - 0.15 <= w.start and w.end <= end + 0.05]
        times = [w.at for w in inside if w.at is not None]
        return max(times) if inside and len(times) == len(inside) else None


def read(path: Path) -> Mapping[str, WordTimes]:
    """Read a file; by the calls' names, and "" for words of no call by name."""
    decoder = msgspec.json.Decoder(Word)
    found: dict[str, list[Word]] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise WordsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise WordsError(f"{path}: the file is not UTF-8 text") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            word = decoder.decode(line.encode())
        except msgspec.ValidationError as error:
            raise WordsError(f"{path}:{number}: {error}; a line is {FORM}") from None
        except msgspec.DecodeError:
            raise WordsError(f"{path}:{number}: found {line[:60]!r}; a line is {FORM}") from None
        if not 0 <= word.start <= word.end:
            raise WordsError(
                f"{path}:{number}: start {word.start:g} and end {word.end:g}: must be"
                " 0 <= start <= end"
            )
        found.setdefault(word.call, []).append(word)
    return {
        call: WordTimes(tuple(sorted(words, key=lambda each: each.end)))
        for call, words in found.items()
    }


FORM = (
    '{"word": TEXT, "start": SECONDS, "end": SECONDS}, and where wanted "call": NAME, "at": SECONDS'
)
