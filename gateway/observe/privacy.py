"""What in the call log is personal or secret, and how much of it is written.

This is the one place that decides it; everything else writes what it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

Mask = Literal["none", "partial", "full"]

NUMBERS = frozenset({"from", "to", "caller", "callee", "target"})
"""Fields with a phone number or an address of a person."""

KEYS = frozenset({"keys", "key", "digits"})
"""Fields with keys a caller pressed: account numbers and codes."""

WORDS = frozenset(
    {"text", "heard_text", "transcript", "summary", "instructions", "prompt", "expects_text"}
)
"""Fields with what was said or written."""

TREES = frozenset({"arguments", "result", "data", "variables"})
"""Fields with JSON from or for a tool, of which any text may be personal."""

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

HIDDEN = "[secret]"


class Privacy:
    """Hides what may not be written; gives everything else as it came."""

    def __init__(self, mask: Mask = "none", secrets: Iterable[str] = ()) -> None:
        self.mask = mask
        # Shorter ones would hit ordinary words, and are no secrets worth the name.
        known = sorted({re.escape(each) for each in secrets if len(each) >= 8}, reverse=True)
        self._known = re.compile("|".join(known)) if known else None

    def clean(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Give the fields as they may be written."""
        return {name: self._field(name, value) for name, value in fields.items()}

    def _field(self, name: str, value: object) -> object:
        counted = isinstance(value, int | float) or (
            isinstance(value, Mapping) and COUNTS.fullmatch(name) is not None
        )
        if SECRET_NAMES.search(name) and not counted:
            return HIDDEN if value else value
        if self.mask != "none":
            if name in NUMBERS:
                return self._number(value)
            if name in KEYS:
                return "•" * len(str(value))
            if name in WORDS:
                return self._words(value)
            if name in TREES:
                return self._tree(value)
        return self._scrub(value)

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
