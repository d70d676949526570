"""The conversation as it truly went: what was said, heard, asked of tools and answered.

Agent speech takes its place when it is begun and keeps it, so that a prompt made from the history
only grows at its end; a cut-in shortens the words of that one entry to what was heard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gateway.events import Entry


@dataclass(slots=True, eq=False)
class _Slot:
    """One place in it; two places with the same words are two."""

    entry: Entry
    open: bool = False
    "text may still come"


class History:
    """Holds the entries in order; never invents and never reorders."""

    def __init__(self, entries: tuple[Entry, ...] = ()) -> None:
        self._slots = [_Slot(entry) for entry in entries]
        self._agent: dict[int, _Slot] = {}
        self._caller: tuple[int, _Slot] | None = None

    def begin_turn(self, turn: int) -> None:
        """The caller's turn takes its place; its words may come after the answer has begun."""
        slot = _Slot(Entry("caller"))
        self._caller = (turn, slot)
        self._slots.append(slot)

    def caller(self, turn: int, text: str) -> None:
        """The caller said or keyed something."""
        if self._caller is None or self._caller[0] != turn:
            self.begin_turn(turn)
        assert self._caller is not None
        self._caller[1].entry = Entry("caller", text)

    def forget(self, turn: int) -> str:
        """A turn of the caller was none: give its words, which come again with what followed."""
        if self._caller is None or self._caller[0] != turn:
            return ""
        slot = self._caller[1]
        self._slots.remove(slot)
        self._caller = None
        return slot.entry.text

    def note(self, text: str) -> None:
        """Something happened that nobody said."""
        self._slots.append(_Slot(Entry("note", text)))

    def agent(self, utterance: int, text: str) -> None:
        """The agent says more of an utterance; it is believed until it is cut."""
        slot = self._agent.get(utterance)
        if slot is None:
            slot = _Slot(Entry("agent", text), open=True)
            self._agent[utterance] = slot
            self._slots.append(slot)
        elif slot.open:
            slot.entry = replace(slot.entry, text=slot.entry.text + text)

    def paused(self, utterance: int, text: str) -> None:
        """An utterance ends sooner than its text: the rest comes in another one, or never."""
        slot = self._agent.get(utterance)
        if slot is not None and slot.open:
            slot.entry = replace(slot.entry, text=text)

    def heard(self, utterance: int) -> None:
        """An utterance was heard to its end: its text stands."""
        slot = self._agent.pop(utterance, None)
        if slot is not None:
            slot.open = False

    def cut(self, utterance: int, heard_text: str) -> None:
        """An utterance was cut: only `heard_text` was said; nothing heard, nothing said."""
        slot = self._agent.pop(utterance, None)
        if slot is None:
            return
        slot.open = False
        if heard_text:
            slot.entry = replace(slot.entry, text=heard_text, interrupted=True)
        else:
            self._slots.remove(slot)

    def append(self, entry: Entry) -> None:
        """A tool was asked for or answered; this stays whatever happens to the speech around."""
        self._slots.append(_Slot(entry))

    def entries(self, without: int = 0) -> tuple[Entry, ...]:
        """Return what stands now, but for one turn of the caller's."""
        left = self._caller[1] if self._caller is not None and self._caller[0] == without else None
        return tuple(
            slot.entry
            for slot in self._slots
            if slot is not left and (slot.entry.text or slot.entry.ask)
        )
