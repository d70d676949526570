"""Loses frames in bursts, as radio and queues do: Gilbert's and Elliott's model of a channel."""

from __future__ import annotations

import random

from gateway.scenarios.scenario import Loss

FRAME_MS = 20


class Bursts:
    """Decides the fate of frame after frame; the same seed decides the same."""

    def __init__(self, loss: Loss | None, chance: random.Random) -> None:
        """Lose nothing where there is no loss."""
        self._chance = chance
        self._bad = False
        self._ends = 0.0 if loss is None else FRAME_MS / loss.burst_ms
        "how likely a burst is over after a frame"
        self._begins = 0.0 if loss is None else self._ends * loss.share / (1 - loss.share)

    def next(self) -> bool:
        """Return whether the next frame is lost."""
        if not self._begins:
            return False
        turns = self._chance.random() < (self._ends if self._bad else self._begins)
        self._bad = self._bad != turns
        return self._bad
