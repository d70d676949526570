"""Knows how protobuf messages are laid out, enough to take one apart and put it together again.

A message is taken as a list of fields in their order, so that what is not understood is kept.
Source: Protocol Buffers, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message."""

    number: int
    wire: int
    "how the value is written: VARINT, FIXED64, BYTES, FIXED32"
    value: int | bytes
    "a number where it is written as VARINT, else the bytes"

    @property
    def content(self) -> bytes:
        """Return the bytes of a field that is written as such."""
        if isinstance(self.value, int):
            raise ValueError(f"field {self.number} is a number, not bytes")
        return self.value

    @property
    def number_value(self) -> int:
        """Return the number of a field that is written as such."""
        if isinstance(self.value, bytes):
            raise ValueError(f"field {self.number} is bytes, not a number")
        return self.value


def text(number: int, value: str) -> Field:
    """Make a field that holds a string."""
    return Field(number, BYTES, value.encode())


def message(number: int, fields: Iterable[Field]) -> Field:
    """Make a field that holds a message."""
    return Field(number, BYTES, encode(fields))


def number(field: int, value: int) -> Field:
    """Make a field that holds a number of zero or more."""
    return Field(field, VARINT, value)


def decode(content: bytes) -> list[Field]:
    """Take a message apart; raise ValueError where it is none."""
    fields = []
    at = 0
    while at < len(content):
        tag, at = _read_varint(content, at)
        wire = tag & 7
        value: int | bytes
        if wire == VARINT:
            value, at = _read_varint(content, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(wire)
            if wire == BYTES:
                size, at = _read_varint(content, at)
            if size is None or at + size > len(content):
                raise ValueError(f"not a protobuf message: byte {at}")
            value = content[at : at + size]
            at += size
        fields.append(Field(tag >> 3, wire, value))
    return fields


def encode(fields: Iterable[Field]) -> bytes:
    """Put a message together."""
    parts = []
    for each in fields:
        parts.append(varint(each.number << 3 | each.wire))
        if isinstance(each.value, int):
            parts.append(varint(each.value))
        else:
            if each.wire == BYTES:
                parts.append(varint(len(each.value)))
            parts.append(each.value)
    return b"".join(parts)


def varint(value: int) -> bytes:
    """Write a number of zero or more, seven bits a byte, lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def read_numbers(field: Field) -> list[int]:
    """Read one entry, or all, of a list of numbers, which may be written either way."""
    if isinstance(field.value, int):
        return [_signed(field.value)]
    found, at = [], 0
    while at < len(field.value):
        value, at = _read_varint(field.value, at)
        found.append(_signed(value))
    return found


def _signed(value: int) -> int:
    """Undo the two's complement in 64 bits that negative numbers are written in."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(content) or shift > 63:
            raise ValueError(f"not a protobuf message: byte {at}")
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
