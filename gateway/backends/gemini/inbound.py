"""What may not be sent to the model at once, and when it may.

The service closes the connection (1008) when it gets sound while it waits for a tool, and breaks
off what it says when it is told something meanwhile.
"""

from __future__ import annotations

MOST = 3000
"""Messages of the caller's sound that wait for a tool: a minute, far beyond any tool's time-out."""


class Inbound:
    """Keeps the caller's sound while a tool is unanswered, and notes while the model speaks."""

    def __init__(self) -> None:
        self._unanswered: set[str] = set()
        self._sound: list[str] = []
        self._notes: list[str] = []

    def caller(self, *messages: str) -> list[str]:
        """Return what of the caller's sound and its marks is sent now."""
        if not self._unanswered:
            return list(messages)
        self._sound += messages
        del self._sound[:-MOST]
        return []

    def note(self, message: str, *, speaking: bool) -> list[str]:
        """Return a note if it is sent now."""
        if not speaking and not self._unanswered:
            return [message]
        self._notes.append(message)
        return []

    def asked(self, ask: str) -> None:
        """The model waits for a tool."""
        self._unanswered.add(ask)

    def answered(self, *asks: str) -> list[str]:
        """It waits no longer for these: give what has waited for that."""
        self._unanswered.difference_update(asks)
        if self._unanswered:
            return []
        sound, self._sound = self._sound, []
        return sound

    def quiet(self) -> list[str]:
        """The model is not speaking: give the notes that have waited for that."""
        if self._unanswered:
            return []
        notes, self._notes = self._notes, []
        return notes
