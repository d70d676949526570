"""When a caller's keys are complete: by the terminator, by their number, or by a pause."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeySettings:
    """How keys end."""

    terminator: str = "#"
    "ends the entry and is no part of it; empty: none"
    length: int = 0
    "keys that make a whole entry; 0: not known"
    timeout: float = 3.0
    "seconds after the last key; telephone menus allow 2 to 5 between keys"
    most: int = 64
    "keys after which an entry ends in any case"


class KeyEntry:
    """Collects keys; knows nothing of sound."""

    def __init__(self, rate: int, settings: KeySettings) -> None:
        self._rate = rate
        self._settings = settings
        self.keys = ""
        "pressed so far"
        self.start = 0
        "position of the first key"
        self.end = 0
        "position of the last key"

    def press(self, at: int, key: str, length: int = 0) -> bool:
        """Take a key; say whether the entry is complete. `length` overrides the setting's."""
        if not self.keys:
            self.start = at
        self.end = at
        if key == self._settings.terminator and self.keys:
            return True
        self.keys += key
        wanted = length or self._settings.length or self._settings.most
        return key == self._settings.terminator or len(self.keys) >= wanted

    def expired(self, now: int) -> bool:
        """Return whether the pause after the last key ended the entry."""
        return bool(self.keys) and now - self.end >= self._settings.timeout * self._rate

    def take(self) -> str:
        """Return the keys and begin anew."""
        keys, self.keys = self.keys, ""
        return keys
