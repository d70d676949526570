"""How much is written of what is personal or secret.

What is personal is marked: in the call log on the fields of `gateway.log_events`.
This is the one place that decides what becomes of it; everything else writes what it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, assert_never

from gateway.log_events import Mark

Mask = Literal["none", "partial", "full"]

SECRET_NAMES = re.compile(
    r"token|secret|password|passwd|api_?key|authorization|credential|cookie|signature|private_key",
    re.IGNORECASE,
)
"""Names of fields that never hold anything for a log."""

COUNTS = re.compile(r"[a-z]+_tokens?_details")
"""Tables of what models count: named like secrets, and none; what is in them is looked at."""

SECRET_TEXTS = re.compile(
    r"\b(?:sk|rk|pk|xox[abp]|ghp|hf)[-_][A-Za-z0-9_-]{16,}"  # keys of common vendors
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"  # JSON web tokens
    r"|(?i:\b(?:bearer|basic)\s+[A-Za-z0-9+/._~=-]{12,})"
    r"|(?i:(?<=token=)[^&\s\"]+)"
)
"""What looks like a secret wherever it stands."""

QUOTED = re.compile(r"(?P<kind>\w+): (?P<words>.*?)(?P<length>, \d+\.\d+ s)?", re.DOTALL)
"""What decided a cut-in, where it was what the caller said: `words: hold on, 0.82 s`."""

HIDDEN = "[secret]"

NONE: Mapping[str, Mark] = {}


class Privacy:
    """Hides what may not be written; gives everything else as it came."""

    def __init__(self, mask: Mask = "none", secrets: Iterable[str] = ()) -> None:
        self.mask = mask
        # Shorter ones would hit ordinary words, and are no secrets worth the name.
        known = sorted({re.escape(each) for each in secrets if len(each) >= 8}, reverse=True)
        self._known = re.compile("|".join(known)) if known else None

    def clean(
        self, fields: Mapping[str, object], marks: Mapping[str, Mark] = NONE
    ) -> dict[str, object]:
        """Return the fields as they may be written; `marks` says which are personal."""
        return {name: self._field(name, value, marks.get(name)) for name, value in fields.items()}

    def _field(self, name: str, value: object, mark: Mark | None) -> object:
        counted = isinstance(value, int | float) or (
            isinstance(value, Mapping) and COUNTS.fullmatch(name) is not None
        )
        if SECRET_NAMES.search(name) and not counted:
            return HIDDEN if value else value
        if mark is None or self.mask == "none":
            return self._scrub(value)
        match mark:
            case "number":
                return self._number(value)
            case "keys":
                return "•" * len(str(value))
            case "words":
                return self._words(value)
            case "tree":
                return self._tree(value)
            case "evidence":
                return self._evidence(value)
            case _:
                assert_never(mark)

    def _scrub(self, value: object) -> object:
        """Take secrets out of texts, however deep they lie."""
        match value:
            case str():
                if self._known is not None:
                    value = self._known.sub(HIDDEN, value)
                return SECRET_TEXTS.sub(HIDDEN, value)
            case Mapping():
                return self.clean(value)
            case list() | tuple():
                return [self._scrub(each) for each in value]
            case float():
                return round(value, 4)  # no clock here is truer than a tenth of a millisecond
            case _:
                return value

    def _number(self, value: object) -> str:
        text = str(value)
        if self.mask == "full" or not text:
            return "•••" if text else text
        shown = 2 if sum(map(str.isdigit, text)) > 4 else 0
        digits = [at for at, char in enumerate(text) if char.isalnum()]
        kept = set(digits[len(digits) - shown :]) if shown else set()
        return "".join(
            "•" if char.isalnum() and at not in kept else char for at, char in enumerate(text)
        )

    def _words(self, value: object) -> str:
        text = str(self._scrub(str(value)))
        if self.mask == "full":
            count = len(text.split())
            return f"[{count} word{'' if count == 1 else 's'}]" if count else ""
        return re.sub(r"\S+@\S+|\d", lambda hit: "•" * len(hit[0]), text)

    def _evidence(self, value: object) -> str:
        """Hide what a judgement quotes, and leave the judgement."""
        text = str(value)
        quoted = QUOTED.fullmatch(text)
        if quoted is None:
            return str(self._scrub(text))
        return f"{quoted['kind']}: {self._words(quoted['words'])}{quoted['length'] or ''}"

    def _tree(self, value: object) -> object:
        """Hide every text in a tool's JSON, keeping its shape and its numbers' places."""
        match value:
            case Mapping():
                return {str(name): self._tree(inner) for name, inner in value.items()}
            case list() | tuple():
                return [self._tree(inner) for inner in value]
            case bool() | None:
                return value
            case int() | float():
                return "•" if self.mask == "full" else value
            case _:
                return self._words(value)
