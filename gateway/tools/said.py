"""What programs that serve tools say on their standard error, for the gateway's log."""

from __future__ import annotations

import os
import threading
from typing import TextIO

import structlog

SAID_MOST = 500
"""Characters of one line that a program says."""

log = structlog.get_logger("tools")


class Said:
    """One program's standard error, in the gateway's log under a field of its own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._end: TextIO | None = None

    def open(self) -> TextIO:
        """Return what a new program writes to; what it writes is read in a thread."""
        reading, writing = os.pipe()
        self._end = os.fdopen(writing, "w")
        threading.Thread(target=self._read, args=(reading,), name="said", daemon=True).start()
        return self._end

    def close(self) -> None:
        """Let go of our end; what the program still says is read until it ends."""
        end, self._end = self._end, None
        if end is not None:
            end.close()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
            while line := lines.readline(SAID_MOST + 1):  # a line without an end is said in pieces
                if said := line.rstrip():
                    log.info("tool server said", server=self._name, said=said[:SAID_MOST])
