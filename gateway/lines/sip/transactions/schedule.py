"""Which of many machines wants the time next: a heap that forgets lazily."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Schedule(Generic[Key]):
    """Knows one deadline per key."""

    def __init__(self) -> None:
        self._when: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._count = 0

    def set(self, key: Key, when: float | None) -> None:
        """Set, move or remove a key's deadline."""
        if when is None:
            self._when.pop(key, None)
        elif self._when.get(key) != when:
            self._when[key] = when
            self._count += 1  # keys need not be comparable
            heapq.heappush(self._heap, (when, self._count, key))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._when):
            self._heap = [item for item in self._heap if self._when.get(item[2]) == item[0]]
            heapq.heapify(self._heap)

    @property
    def deadline(self) -> float | None:
        """The next deadline of all."""
        while self._heap:
            when, _, key = self._heap[0]
            if self._when.get(key) == when:
                return when
            heapq.heappop(self._heap)
        return None

    def due(self, now: float) -> list[Key]:
        """Take out the keys whose deadline is over, earliest first."""
        keys: list[Key] = []
        while (when := self.deadline) is not None and when <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._when[key]
            keys.append(key)
        return keys
