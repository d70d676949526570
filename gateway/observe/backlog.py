"""Lines of the log on their way to a disk that may refuse them: kept, tried again, counted.

Lives on the journal's thread alone, and others only look at how it stands.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from gateway.observe.files import Sink

KEPT_BYTES = 16_000_000
"""What is kept while nothing can be written: some ten minutes of fifty busy calls."""

BATCH_BYTES = 1_000_000
"""Handed to the system at once, when the disk lagged behind."""

RETRY_SECONDS = 1.0
"""How often a disk that refuses is tried."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why nothing could be written, and what that cost."""

    reason: str
    since: float
    "seconds of the clock that the backlog is given"
    lost: int = 0
    "lines that could not be kept"


class Backlog:
    """Writes lines in their order; past a bound the newest are lost, and counted."""

    def __init__(
        self,
        sink: Sink,
        clock: Callable[[], float],
        told: Callable[[Trouble], list[bytes]],
        bound: int = KEPT_BYTES,
    ) -> None:
        """`told` gives the lines that tell of a trouble that is over."""
        self.trouble: Trouble | None = None
        self.lost = 0
        "lines, in all"
        self._sink = sink
        self._clock = clock
        self._told = told
        self._bound = bound
        self._lines: deque[bytes] = deque()
        self._bytes = 0

    @property
    def kept(self) -> int:
        """How many lines wait for the disk."""
        return len(self._lines)

    def write(self, lines: list[bytes]) -> None:
        """Write what waits and then these, as far as the disk takes them."""
        for line in lines:
            self._keep(line)
        while self._lines:
            try:
                self._hand()
            except OSError as error:
                self._refused(error)
                return
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            print("parley: the call log is written again", file=sys.stderr)
            self.write(self._told(trouble))

    def close(self) -> None:
        """Try once more, and let the sink go; what is left is lost."""
        self.write([])
        self._sink.close()

    def _keep(self, line: bytes) -> None:
        if self.trouble is not None and self._bytes + len(line) > self._bound:
            self.lost += 1
            was = self.trouble
            self.trouble = Trouble(was.reason, was.since, was.lost + 1)
            return
        self._lines.append(line)
        self._bytes += len(line)

    def _hand(self) -> None:
        """Hand as many lines to the system as it takes at once."""
        batch: list[bytes] = []
        size = 0
        for line in self._lines:
            if batch and size + len(line) > BATCH_BYTES:
                break
            batch.append(line)
            size += len(line)
        taken = self._sink.write(b"".join(batch))
        for line in batch:
            if taken < len(line):
                break
            taken -= len(line)
            self._lines.popleft()
            self._bytes -= len(line)

    def _refused(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        if self.trouble is None:
            self.trouble = Trouble(reason, self._clock())
            said = f"the call log cannot be written: {reason}; lines are kept and tried again"
            print(f"parley: {said}", file=sys.stderr)
