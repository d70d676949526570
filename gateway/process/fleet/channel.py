"""A pair of sockets between the supervisor and one process: whole messages, and open files.

Neither side ever waits for the other: what finds no room is kept, up to a bound, and then let go.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence

import structlog

LARGEST = 150_000
"""Bytes of a message: below what the system takes at once (212,992 by default)."""

WAITING_MOST = 2000
"""Messages that are kept for a process that is busy: seconds of a trunk's signalling."""

FILES_MOST = 16

log = structlog.get_logger("fleet")

Received = Callable[[bytes, list[int]], None]
"""Takes a message and the files that came along, which are its own from then on."""


def pair() -> tuple[socket.socket, socket.socket]:
    """Return both ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return ours, theirs


class Channel:
    """One end, on the running loop."""

    def __init__(self, end: socket.socket, received: Received, closed: Callable[[], None]) -> None:
        end.setblocking(False)
        self._end = end
        self._received = received
        self._closed = closed
        self._waiting: deque[tuple[bytes, list[int]]] = deque()
        self._writing = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(end.fileno(), self._read)

    def send(self, message: bytes, files: Sequence[int] = ()) -> bool:
        """Send a message and copies of open files; say whether it is on its way."""
        if self._end.fileno() < 0 or len(message) > LARGEST:
            return False
        if not self._waiting and self._put(message, files):
            return True
        if self._end.fileno() < 0 or len(self._waiting) >= WAITING_MOST:
            return False
        self._waiting.append((message, [os.dup(file) for file in files]))
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._end.fileno(), self._write)
        return True

    def close(self) -> None:
        """Let the other side see the end."""
        if self._end.fileno() >= 0:
            self._loop.remove_reader(self._end.fileno())
            self._loop.remove_writer(self._end.fileno())
            self._end.close()
        while self._waiting:
            _close(self._waiting.popleft()[1])

    def _put(self, message: bytes, files: Sequence[int]) -> bool:
        try:
            socket.send_fds(self._end, [message], list(files))
        except BlockingIOError:
            return False
        except OSError:  # the other side is gone: `_read` sees it too
            return False
        return True

    def _write(self) -> None:
        while self._waiting:
            message, files = self._waiting[0]
            if not self._put(message, files):
                return
            self._waiting.popleft()
            _close(files)
        self._writing = False
        self._loop.remove_writer(self._end.fileno())

    def _read(self) -> None:
        try:
            message, files = receive(self._end)
        except BlockingIOError:
            return
        except OSError:
            message, files = b"", []
        if message:
            self._received(message, files)
            return
        _close(files)
        self.close()
        self._closed()


def receive(end: socket.socket) -> tuple[bytes, list[int]]:
    """Read one message, and the files that came along; an empty one is the end."""
    size = FILES_MOST * array.array("i").itemsize
    message, control, _, _ = end.recvmsg(LARGEST, socket.CMSG_LEN(size), socket.MSG_CMSG_CLOEXEC)
    files = array.array("i")
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return message, list(files)


def _close(files: Sequence[int]) -> None:
    for file in files:
        os.close(file)
