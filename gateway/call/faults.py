"""Which parts of a call do not work right now: each is told of once, and again when it is well."""

from __future__ import annotations

from collections.abc import Callable

from gateway.events import Record
from gateway.log_events import FaultLogged, RecoveredLogged


class Faults:
    """Turns what is found out again and again into one `fault` and one `recovered`."""

    def __init__(
        self,
        note: Callable[[Record], None] = lambda record: None,
        broke: Callable[[], None] = lambda: None,
    ) -> None:
        """`note` takes what is to be logged; `broke` is for what no part can be blamed for."""
        self.failing: dict[str, str] = {}
        "parts, with why"
        self.broke = broke
        self._note = note

    def note(self, part: str, reason: str) -> None:
        """Take how a part did just now; an empty reason: it worked."""
        if reason and part not in self.failing:
            self.failing[part] = reason
            self._note(Record(FaultLogged(part=part, reason=reason)))
        elif not reason and self.failing.pop(part, None) is not None:
            self._note(Record(RecoveredLogged(part=part)))
