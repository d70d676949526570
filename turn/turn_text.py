"""The words of one turn as they grow from pause to pause, and what they tell each time."""

from __future__ import annotations

from turn.forms import FIRST_WORDS, Form, form, forms, spoken
from turn.words import Reading, lexicon, plausible, read, split

WORDS_A_SECOND = 5.5
SPARE = 1
"""Digits and words of a form that fit into a sound: a recogniser that hears the first groups of a
telephone number likes to write down the rest of one."""


class TurnText:
    """Reads what a turn's words tell; never decides what follows."""

    def __init__(self, language: str) -> None:
        self._lists, self._forms = lexicon(language), forms(language)
        self.sound = 0.0
        "seconds of voice in the last sound of the turn"
        self.form: Form = "none"
        "how much of a form the turn held when its words were known last"
        self._said = 0
        "words of the turn by then"

    def begin(self) -> None:
        """Begin a turn."""
        self.form, self._said, self.sound = "none", 0, 0.0

    def heard(self, text: str, voiced: float, kind: str, length: int) -> tuple[Reading, Form]:
        """Take the words of the turn so far, of `voiced` seconds; say what they tell.

        `kind` and `length`: the form that is dictated, as `turn.forms.form` takes them.
        """
        words = split(text) if plausible(text, voiced) else []
        text = text if words else ""
        said = form(text, kind, length, self._lists, self._forms)
        count = spoken(words)
        grown, self._said = count - self._said, count
        if said == "whole" and grown > SPARE + WORDS_A_SECOND * self.sound:
            said = "part"
        if said == "due" and len(words) <= FIRST_WORDS:
            said = "part"
        self.form = said
        return read(text, self._lists), said
