"""Amazon's event-stream framing, written from its description and not with Amazon's code.

A message is: u32 length of all, u32 length of the headers, CRC-32 of these eight bytes, the
headers, the payload, CRC-32 of all before it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

PRELUDE = 12
STRING = 7
"""Type of a text header; the only one that a service writes here."""

SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of the header types of fixed length; 6 (bytes) and 7 (text) begin with a u16 length."""


@dataclass(frozen=True)
class Message:
    """One message; headers of other types than text are kept as bytes."""

    headers: Mapping[str, str | bytes]
    payload: bytes


def encode(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Write a message with text headers."""
    head = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", STRING, len(text)) + text
        for name, text in ((name, value.encode()) for name, value in headers.items())
    )
    prelude = struct.pack("!II", PRELUDE + len(head) + len(payload) + 4, len(head))
    body = prelude + struct.pack("!I", crc32(prelude)) + head + payload
    return body + struct.pack("!I", crc32(body))


class Messages:
    """Cuts a stream into messages; raises ValueError for what is none."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Message]:
        """Take bytes and give the messages that are complete."""
        self._rest += data
        while len(self._rest) >= PRELUDE:
            length, head, check = struct.unpack("!III", self._rest[:PRELUDE])
            if crc32(self._rest[:8]) != check:
                raise ValueError("the prelude's checksum is wrong")
            if len(self._rest) < length:
                return
            body, self._rest = self._rest[:length], self._rest[length:]
            if crc32(body[:-4]) != int.from_bytes(body[-4:], "big"):
                raise ValueError("the message's checksum is wrong")
            yield Message(dict(_headers(body[PRELUDE : PRELUDE + head])), body[PRELUDE + head : -4])


def decode(data: bytes) -> Message:
    """Read exactly one message."""
    (message,) = Messages().feed(data)
    return message


def _headers(data: bytes) -> Iterator[tuple[str, str | bytes]]:
    at = 0
    while at < len(data):
        name = data[at + 1 : at + 1 + data[at]].decode()
        at += 1 + data[at]
        kind, at = data[at], at + 1
        if kind in SIZES:
            size = SIZES[kind]
        else:
            size, at = int.from_bytes(data[at : at + 2], "big"), at + 2
        value, at = data[at : at + size], at + size
        yield name, value.decode() if kind == STRING else value
