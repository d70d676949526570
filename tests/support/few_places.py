"""An `Answer` with few places, which are taken as the switchboard's are."""

from __future__ import annotations

from gateway.ports import Free, Leg, Refusal
from tests.support.sip_answers import Parties


class FewPlaces(Parties):
    """Takes so many calls and no more."""

    def __init__(self, places: int) -> None:
        super().__init__(echo=False)
        self.places = places
        self.taken: set[object] = set()

    def admit(self, agent: str) -> Refusal | None:
        """Say no where all places are taken."""
        up = sum(1 for one in self.all if not one.gone.is_set())
        full = up + len(self.taken) >= self.places
        return Refusal("busy", 5, "All lines are busy.", "calls") if full else None

    def take(self) -> Free:
        """Keep a place."""
        place = object()
        self.taken.add(place)
        return lambda: self.taken.discard(place)

    def begin(self, leg: Leg) -> None:
        """Take the call; its place must be free again by now."""
        super().begin(leg)
        assert len(self.taken) < self.places
