"""Follows the call log for whoever looks at the page; reads it only while somebody looks."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path

import msgspec

from gateway.observe.lines import LogLine, parse
from gateway.observe.tail import Tail
from gateway.web.call_stories import Recent

LINES_MOST = 20_000
"""Lines of a log that is there already which are looked at: twenty calls have some thousand."""


class Feed:
    """One reader for all viewers; `news` blocks on the disk and belongs into a thread."""

    def __init__(self, path: Path | None, started: str = "") -> None:
        """`path` is None where the log goes to no file; `started` is when this process was."""
        self.path = path
        self._recent = Recent(started)
        self._tail: Tail | None = None
        self._lock = threading.Lock()
        self._closed = False

    def news(self, version: int) -> tuple[int, bytes]:
        """Return the calls that changed since a version, as a JSON array, and the version now."""
        with self._lock:
            self._read()
            calls = self._recent.since(version)
            return self._recent.version, msgspec.json.encode(calls)

    def close(self) -> None:
        """Let the file go; nothing is read any more."""
        with self._lock:
            self._closed = True
            if self._tail is not None:
                self._tail.close()
                self._tail = None

    def _read(self) -> None:
        if self.path is None or self._closed:
            return
        first = self._tail is None
        tail = self._tail = self._tail or Tail(self.path)
        lines: deque[bytes] = deque(maxlen=LINES_MOST if first else None)
        while new := tail.read():
            lines.extend(new)
        self._recent.take(filter(None, map(_parsed, lines)))


def _parsed(raw: bytes) -> LogLine | None:
    try:
        return parse(raw)
    except ValueError:
        return None  # a line that another program wrote there
