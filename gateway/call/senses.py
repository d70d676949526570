"""What a call hears with: voice activity, the turn detector, its own echo, turn-taking."""

from __future__ import annotations

from typing import Protocol

from media.frame import Samples
from turn.events import (
    TurnAssessed,
    TurnInput,
    TurnOutput,
)


class VoiceStream(Protocol):
    """One caller's place in the voice activity service."""

    def feed(self, samples: Samples) -> None:
        """Take sound; windows are judged together with those of all other calls."""

    def close(self) -> None:
        """Give the place back."""


class TurnStream(Protocol):
    """One caller's place in the semantic detector."""

    def feed(self, samples: Samples) -> None:
        """Take sound; what can be computed ahead is."""

    async def assess(self, start: int, at: int, due_seconds: float) -> TurnAssessed:
        """Ask about the sound in [start, at); probability None when it came too late."""

    def close(self) -> None:
        """Let go of the sound."""


class Echo(Protocol):
    """Knows our own outbound sound, to recognise it when it comes back."""

    def sent(self, start: int, payload: bytes) -> None:
        """Take what is heard at the far side from `start` of the caller's stream on, as sent."""

    def cut(self, start: int) -> None:
        """Take back what was sent from `start` on: the far side was cleared."""

    def score(self, start: int, end: int) -> float:
        """Return how much of the caller's window [start, end) is our own sound, 0 to 1."""


class Taking(Protocol):
    """The turn-taking machine."""

    def handle(self, event: TurnInput) -> list[TurnOutput]:
        """Take an input; give what follows."""
