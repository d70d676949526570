"""Standard error behind a bounded queue: whoever says something never waits for who reads it.

A pipe whose reader stalls takes 64 KiB and then stops its writer, on a loop with every call.
Here one thread writes; what does not fit is dropped, counted, and the count is written as soon as
there is room.
"""

from __future__ import annotations

import io
import json
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 1_000_000
"""Characters that wait: a burst of thousands of messages, and what is worth reading of a flood."""

LONGEST = 16_000
"""Characters of one piece that are written: a traceback has a few thousand."""

CLOSE_SECONDS = 1.0
"""How long the end of the process waits for what is still to be written."""

PATIENCE = 0.2
"""Seconds after which a file that takes nothing is looked at again, and whether it is the end."""


class Messages(io.TextIOBase):
    """A text file that takes everything at once and writes when it can; any thread may use it."""

    def __init__(self, file: int, *, terminal: bool = False, most: int = MOST) -> None:
        """Write to a file by its number, which is left open."""
        self.dropped = 0
        "lines that found no room, in all"
        self._file = file
        self._terminal = terminal
        self._most = most
        self._told = 0
        self._pieces: deque[str] = deque()
        self._waiting = 0
        self._ready = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="messages", daemon=True)
        self._thread.start()

    def write(self, text: str, /) -> int:
        """Take a text, or count its lines where there is no room."""
        kept = text if len(text) <= LONGEST else _shortened(text)
        with self._ready:
            if self._over or self._waiting + len(kept) > self._most:
                self.dropped += text.count("\n")
            else:
                self._pieces.append(kept)
                self._waiting += len(kept)
                self._ready.notify()
        return len(text)

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def isatty(self) -> bool:
        """Return whether a person reads it."""
        return self._terminal

    def fileno(self) -> int:
        """Return the number of the file behind it."""
        return self._file

    def flush(self) -> None:
        """Do nothing: what was taken is on its way."""

    def finish(self, seconds: float = CLOSE_SECONDS) -> None:
        """Write what waits, within a bound, and take no more."""
        with self._ready:
            self._over = True
            self._ready.notify()
        self._thread.join(seconds)

    # --- on its own thread ---------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._ready:
                while not self._pieces and self.dropped == self._told and not self._over:
                    self._ready.wait()
                text = "".join(self._pieces)
                self._pieces.clear()
                dropped, self._told = self.dropped - self._told, self.dropped
                if not text and not dropped:
                    return
            if dropped:
                text += json.dumps({"event": "messages_dropped", "lines": dropped}) + "\n"
            self._put(text.encode("utf-8", "backslashreplace"))
            with self._ready:
                self._waiting = sum(map(len, self._pieces))

    def _put(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                # Whoever shares the file may have made it one that does not wait.
                if select.select([], [self._file], [], PATIENCE)[1]:
                    left = left[os.write(self._file, left[: select.PIPE_BUF]) :]
            except BlockingIOError:
                continue
            except (OSError, ValueError):  # the terminal was closed, or the reader is gone
                with self._ready:
                    self.dropped += bytes(left).count(b"\n")
                    self._told = self.dropped  # nobody is there to be told
                return


def _shortened(text: str) -> str:
    """Keep the ends of a text that is too long, and say how much is missing."""
    half = LONGEST // 2
    return f"{text[:half]}[{len(text) - LONGEST} characters]{text[-half:]}"


@contextmanager
def queued_stderr() -> Iterator[Messages]:
    """Put everything that this process writes to standard error behind a queue."""
    before = sys.stderr
    before.flush()
    messages = Messages(before.fileno(), terminal=before.isatty())
    sys.stderr = messages
    try:
        yield messages
    finally:
        sys.stderr = before
        messages.finish()
