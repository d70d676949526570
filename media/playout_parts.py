"""The small parts of playout: the agent's level, the stall watch, the memory of what is over."""

from __future__ import annotations

from media.codec import WireForm
from media.playout_vocabulary import Position, Stalled

STALL_SECONDS = 0.5
"""Pauses inside speech are shorter; more than this with sound waiting is a fault."""

DUCK_STEP_DB = 6.0
"""Change of gain from one frame to the next: 6 dB every 20 ms is a fade and not a click."""

REMEMBERED = 64
"""How many utterances that are over can still be asked for."""


class Fader:
    """The agent's level, moved in steps that are not heard as clicks."""

    __slots__ = ("_form", "_gain", "_wanted")

    def __init__(self, form: WireForm) -> None:
        self._form = form
        self._gain = self._wanted = 0.0

    def fade(self, gain_db: float) -> None:
        """Go towards a level from the next frame on."""
        self._wanted = gain_db

    def reset(self) -> None:
        """Be at full level with the next frame."""
        self._gain = self._wanted = 0.0

    def apply(self, payload: bytes) -> bytes:
        """Return a frame its level."""
        if self._gain != self._wanted:
            step = max(-DUCK_STEP_DB, min(DUCK_STEP_DB, self._wanted - self._gain))
            self._gain += step
        return self._form.attenuate(payload, self._gain) if self._gain else payload


class StallWatch:
    """Notices that sound waits and none leaves."""

    __slots__ = ("_since", "_told")

    def __init__(self) -> None:
        self._since: float | None = None
        self._told = False

    def reset(self, since: float | None) -> None:
        """Something left just then, or (None) there is nothing to send."""
        self._since, self._told = since, False

    @property
    def deadline(self) -> float | None:
        """When waiting becomes a stall."""
        return None if self._since is None or self._told else self._since + STALL_SECONDS

    def look(self, now: float) -> Stalled | None:
        """Say once that sound has waited for too long."""
        if self._since is None:
            self._since = now
        if self._told or now - self._since <= STALL_SECONDS:
            return None
        self._told = True
        return Stalled(now - self._since)


class Past:
    """Utterances that are over: their last position, and that nothing may be added to them."""

    __slots__ = ("_forgotten", "_positions")

    def __init__(self) -> None:
        self._positions: dict[int, Position] = {}
        self._forgotten = 0

    def add(self, position: Position) -> None:
        """Remember how an utterance ended."""
        self._positions[position.utterance] = position
        if len(self._positions) > REMEMBERED:
            oldest = next(iter(self._positions))
            del self._positions[oldest]
            self._forgotten = max(self._forgotten, oldest)

    def get(self, utterance: int) -> Position | None:
        """Return an utterance's last position, while it is remembered."""
        return self._positions.get(utterance)

    def reopen(self, utterance: int) -> bool:
        """Take back that an utterance was heard to its end; False where it was not."""
        known = self._positions.get(utterance)
        if known is None or not known.finished:
            return False
        del self._positions[utterance]
        return True

    def __contains__(self, utterance: int) -> bool:
        return utterance in self._positions or utterance <= self._forgotten
