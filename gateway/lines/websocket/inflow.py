"""Whether a peer of the media path sends more than anybody needs; told the time."""

from __future__ import annotations

from gateway.plumbing.meter import Measure, Meter

MESSAGES = Measure(5000, 500)
"""A call sends fifty a second; a network that stood still for a minute brings it all at once."""

BYTES = Measure(4_000_000, 400_000)
"""The same, of which 20 ms have some 400 bytes: ten times what a call needs, for good."""

TOGETHER = 16
"""Messages that are measured at once, a third of a second of a call: it is done for every call."""

LARGE = 65536
"""Bytes that are not waited with."""


class Inflow:
    """Measures what one peer sends."""

    def __init__(self) -> None:
        self._bytes, self._messages = Meter(BYTES), Meter(MESSAGES)
        self._count = self._size = 0
        "messages, and bytes of them, that are not measured yet"

    def floods(self, size: int, now: float) -> bool:
        """Take a message of so many bytes; return whether it is too much by now."""
        self._count += 1
        self._size += size
        if self._count < TOGETHER and self._size < LARGE:
            return False
        much = self._messages.wait(self._count, now), self._bytes.wait(self._size, now)
        self._count = self._size = 0
        return any(much)
