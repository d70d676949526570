"""The network between a caller and the gateway, as it is: frames lost, late, or not sent at all."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """How bad it is."""

    loss: float = 0.0
    "share of the caller's frames that never arrive"
    jitter: float = 0.0
    "seconds that frames are late at most; they stay in order, as TCP keeps them"
    drop_silent: bool = False
    "nothing is sent for silence, as some carriers do"
    seed: int = 1


class Network:
    """Decides the fate of each frame; the same seed decides the same."""

    def __init__(self, settings: NetworkSettings) -> None:
        self._settings = settings
        self._chance = random.Random(settings.seed)
        self._last = 0.0

    def arrives(self, now: float, *, silent: bool) -> float | None:
        """Return when a frame that is ready now goes on its way; None: never."""
        chosen = self._settings
        if chosen.drop_silent and silent:
            return None
        if chosen.loss and self._chance.random() < chosen.loss:
            return None
        delay = self._chance.random() * chosen.jitter if chosen.jitter else 0.0
        self._last = max(self._last, now + delay)
        return self._last
