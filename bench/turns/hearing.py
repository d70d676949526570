"""The models, each asked once for each piece of sound in a run, whatever the number of methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from media.frame import Samples
from turn.offline import Ears

T = TypeVar("T")


@dataclass
class Price:
    """What one kind of question cost."""

    questions: int = 0
    seconds: float = 0.0
    sound: float = 0.0
    "seconds of sound heard"

    @property
    def each_ms(self) -> float:
        """Return processor milliseconds a question."""
        return 1000 * self.seconds / max(self.questions, 1)


@dataclass
class Memory:
    """Remembers answers within a run, and what each kind of answer cost when it was new."""

    ears: Ears
    prices: dict[str, Price] = field(default_factory=dict)
    _known: dict[tuple[str, int, int, int], tuple[Samples, object]] = field(default_factory=dict)

    def remembering(self) -> Ears:
        """Return ears that answer from memory where they can.

        Sound is known by its place in memory, where it is kept for the whole run.
        """
        ears = self.ears
        return Ears(
            self._once("voice", ears.voice),
            self._once("semantic", ears.semantic) if ears.semantic else None,
            self._once("words", ears.words) if ears.words else None,
        )

    def _once(self, what: str, ask: Callable[[Samples, int], T]) -> Callable[[Samples, int], T]:
        price = self.prices.setdefault(what, Price())

        def answer(samples: Samples, rate: int) -> T:
            place = samples.__array_interface__["data"][0]
            key = (what, int(place), len(samples), rate)
            if key not in self._known:
                began = time.thread_time()
                self._known[key] = samples, ask(samples, rate)
                price.seconds += time.thread_time() - began
                price.questions += 1
                price.sound += len(samples) / rate
            return self._known[key][1]  # type: ignore[return-value]

        return answer
