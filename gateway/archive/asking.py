"""Asks the archive, in its own process, which is begun when somebody first looks."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.archive.desk import Places

HEAD = 5
"""Bytes before an answer: its kind and its length."""


class NoSuchCall(Exception):
    """The log tells of no call of that name."""


class BadQuestion(Exception):
    """What was asked cannot be asked; says why."""


class ArchiveAway(Exception):
    """The archive's process does not answer."""


class Archive:
    """One process for all who ask; `ask` waits, and belongs into a thread."""

    def __init__(self, places: Places | None) -> None:
        """`places` is None where the log goes to no file."""
        self.places = places
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def ask(self, name: str, given: Mapping[str, Any]) -> bytes:
        """Return the answer, as JSON.

        Raise NoSuchCall, BadQuestion or ArchiveAway.
        """
        with self._lock:
            for _ in range(2):  # a process that has gone meanwhile is begun anew, once
                try:
                    kind, body = self._exchange(name, given)
                except OSError:
                    self._end()
                    continue
                break
            else:
                raise ArchiveAway("the archive's process ended")
        match kind:
            case b"+":
                return body
            case b"~":
                raise ArchiveAway("the log is still being read; ask again in a moment")
            case b"?":
                raise NoSuchCall(str(given.get("call", "")))
            case _:
                raise BadQuestion(body.decode(errors="replace"))

    def close(self) -> None:
        """End the process."""
        self._closed = True
        process = self._process  # not after the lock: somebody may wait for an answer
        if process is not None:
            process.kill()
        with self._lock:
            self._end()

    # --- inside ------------------------------------------------------------------------------

    def _exchange(self, name: str, given: Mapping[str, Any]) -> tuple[bytes, bytes]:
        process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        question = msgspec.json.encode({"name": name, "given": given})
        process.stdin.write(len(question).to_bytes(4, "little") + question)
        process.stdin.flush()
        head = process.stdout.read(HEAD)
        length = int.from_bytes(head[1:], "little")
        body = process.stdout.read(length) if len(head) == HEAD else b""
        if len(head) < HEAD or len(body) < length:
            raise BrokenPipeError
        return head[:1], body

    def _begin(self) -> subprocess.Popen[bytes]:
        if self.places is None or self._closed:
            raise ArchiveAway("the call log goes to no file, or the gateway is going down")
        places = msgspec.json.encode(self.places).decode()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gateway.archive", places],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except OSError:
                pass  # what was not sent is sent to nobody
        process.wait()
