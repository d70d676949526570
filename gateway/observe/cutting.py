"""How long a line may be: what is too long in it is cut before anything goes through it.

A line is looked through for secrets and written as JSON, and both keep the interpreter to
themselves: a field of a hundred megabytes would stop every call.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

LONGEST_TEXT = 16_000
"""Characters of one text: a quarter of an hour of speech."""

LONGEST_LINE = 64_000
"""Characters of all texts of a line; what comes after them is left out."""

MOST_PARTS = 2_000
"""Entries of all lists and tables of a line."""

MOST_CUT = 40
"""Names that are told."""

WORD = 200
"""Characters within which the end of a word is looked for, so that no secret is cut in two."""


class Cutting:
    """Cuts one line."""

    def __init__(self) -> None:
        self.cut: dict[str, None] = {}
        "names of fields of which something is missing, in order"
        self._characters = LONGEST_LINE
        self._parts = MOST_PARTS
        self._name = "fields"

    def line(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Return the fields as they may be written."""
        kept: dict[str, object] = {}
        for name in self._some(fields):
            self._name = name
            kept[name] = self._value(fields[name])
        return kept

    def _value(self, value: object) -> object:
        match value:
            case str():
                return self._text(value)
            case bytes() | bytearray() | memoryview():
                self._note()
                return f"[{len(value)} bytes]"
            case Mapping():
                entries = self._some(value)
                return {self._text(str(key)): self._value(value[key]) for key in entries}
            case list() | tuple():
                return [self._value(each) for each in self._some(value)]
            case _:
                return value

    def _text(self, text: str) -> str:
        room = min(LONGEST_TEXT, self._characters)
        self._characters -= min(len(text), room)
        if len(text) <= room:
            return text
        self._note()
        end = text.rfind(" ", max(0, room - WORD), room)
        kept = text[: room if end < 0 else end]
        return f"{kept}… [{len(text) - len(kept)} characters more]"

    def _some(self, entries: Collection[Any]) -> list[Any]:
        if len(entries) > self._parts:
            self._note()
        some = [each for each, _ in zip(entries, range(self._parts), strict=False)]
        self._parts -= len(some)
        return some

    def _note(self) -> None:
        if len(self.cut) < MOST_CUT:
            self.cut[self._name] = None
