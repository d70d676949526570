"""Where a SIP message ends in a stream (RFC 3261, section 18.3; RFC 5626, section 4.4.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gateway.lines.sip.message.message import MAX_BYTES

_LENGTH = re.compile(rb"^(?:content-length|l)[ \t]*:[ \t]*(\d{1,8})[ \t]*\r?$", re.I | re.M)


@dataclass(frozen=True, slots=True)
class Ping:
    """A double CRLF: the far side wants a CRLF back."""


class Framer:
    """Cuts one stream into messages; raises ValueError when it cannot be followed any more."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head = 0
        "length of a head that is complete, 0 while it is not"
        self._whole = 0

    @property
    def partial(self) -> bool:
        """Whether a message has begun and not ended."""
        return bool(self._buffer.strip(b"\r\n"))

    def feed(self, data: bytes) -> list[bytes | Ping]:
        """Take bytes, give what is complete."""
        self._buffer += data
        found: list[bytes | Ping] = []
        while (item := self._next()) is not None:
            found.append(item)
        if len(self._buffer) > MAX_BYTES:
            raise ValueError("a message is too large")
        return found

    def _next(self) -> bytes | Ping | None:
        buffer = self._buffer
        if not self._whole:
            if buffer.startswith(b"\r\n\r\n"):
                del buffer[:4]
                return Ping()
            if b"\r\n\r\n".startswith(buffer):
                return None  # nothing, a pong, or the beginning of a ping
            del buffer[: len(buffer) - len(buffer.lstrip(b"\r\n"))]
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return None
            length = _LENGTH.search(bytes(buffer[: end + 2]))
            # RFC 3261, section 20.14: without a length no end is known; none is taken for none.
            self._head = end + 4
            self._whole = self._head + (int(length[1]) if length else 0)
            if self._whole > MAX_BYTES:
                raise ValueError("a message is too large")
        if len(buffer) < self._whole:
            return None
        message = bytes(buffer[: self._whole])
        del buffer[: self._whole]
        self._head = self._whole = 0
        return message
