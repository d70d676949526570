"""One of a list in a caller's words, also when a recogniser bent it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gateway.backends.cascade.models.script.words import find, likeness, phrase

ASKED = 0.75
"""Likeness that is enough for the answer to a question about this list."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The values of a list, each with the forms it is heard in."""

    phrases: tuple[tuple[tuple[str, ...], str], ...]
    "forms in words, longest first, with their value"
    glued: dict[str, str] = field(default_factory=dict)
    "forms without spaces, with their value"

    def exact(self, heard: Sequence[str]) -> str | None:
        """Find a value whose form is there word by word; the longest form wins.

        A `(value)` is what is left when nothing more telling is there.
        """
        there = [value for form, value in self.phrases if find(heard, form)]
        telling = [value for value in there if not value.startswith("(")]
        return next(iter(telling or there), None)

    def distinct(self, heard: Sequence[str]) -> str | None:
        """Find a value whose form no other words can be meant by: long enough, or of two words."""
        long = (pair for pair in self.phrases if len(pair[0]) > 1 or len(pair[0][0]) > 4)
        return next((value for form, value in long if find(heard, form)), None)

    def joined(self, heard: Sequence[str]) -> str | None:
        """Find a value whose letters are there, however they are split into words."""
        for size in (4, 3, 2, 1):
            for at in range(len(heard) - size + 1):
                value = self.glued.get("".join(heard[at : at + size]))
                if value is not None:
                    return value
        return None

    def nearest(self, heard: Sequence[str], least: float = ASKED) -> str | None:
        """Find the one value that is most alike; None when two are equally near, or none is."""
        best, values = least - 1e-9, set[str]()
        for size in (3, 2, 1):
            for at in range(len(heard) - size + 1):
                piece = "".join(heard[at : at + size])
                if len(piece) < 4:
                    continue
                letters = set(piece)
                for form, value in self.glued.items():
                    # Words that are alike share most of their letters: cheaper to see.
                    if len(form) < 4 or len(letters.intersection(form)) * 3 < len(set(form)) * 2:
                        continue
                    score = likeness(piece, form, max(best, least))
                    if score > best:
                        best, values = score, {value}
                    elif score == best:
                        values.add(value)
        return values.pop() if len(values) == 1 else None


def choices(entries: Iterable[str]) -> Choices:
    """Read a list: each entry a value, or `value = form, form`."""
    forms: list[tuple[tuple[str, ...], str]] = []
    for entry in entries:
        value, _, others = entry.partition("=")
        value = value.strip()
        texts = [value, *(other.strip() for other in others.split(","))]
        forms += [(phrase(text), value) for text in texts if text]
    forms.sort(key=lambda pair: -len(pair[0]))
    glued = {"".join(form): value for form, value in reversed(forms) if "*" not in form}
    return Choices(tuple(forms), glued)
