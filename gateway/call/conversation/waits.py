"""Every wait of a conversation, each with its deadline; a stall is an event."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Waits:
    """Deadlines in loop seconds; None: not waiting for that."""

    idle: float | None = None
    "the caller says nothing although the floor is theirs"
    reply: float | None = None
    "the backend owes sound"
    filler: float | None = None
    "the wait for the backend is to be bridged"
    held: float | None = None
    "playout is held for a caller who may not be speaking at all"
    words: float | None = None
    "the caller answered a proposal, and their words are not known yet"
    sure: float | None = None
    "the caller may go on with a turn that was found to be over, so that no write begins"
    ending: float | None = None
    "the goodbye should have been heard by now"
    limit: float | None = None
    "the longest a call may last"

    def expired(self, now: float, *, held: bool) -> list[str]:
        """Name the waits that are over, and stop waiting for them; on hold only the longest."""
        over = []
        for name in _HELD if held else _NAMES:
            at = getattr(self, name)
            if at is not None and at <= now:
                setattr(self, name, None)
                over.append(name)
        return over

    @property
    def deadline(self) -> float | None:
        """The next moment at which something is over."""
        soonest = None
        for name in _NAMES:
            at = getattr(self, name)
            if at is not None and (soonest is None or at < soonest):
                soonest = at
        return soonest


_HELD = ("limit",)
_NAMES = tuple(wait.name for wait in fields(Waits))
"""Found once: the deadline is asked for every 20 ms in every call."""
