"""The journal's file: packed blocks of records, readable up to wherever it was cut.

    parley journal\\n            what it is
    length  check  block        two 32-bit numbers, then zlib's; again and again
    block = length record ...   a 32-bit number and a record of msgpack; again and again

The first record is the head.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gateway.replay.records import (
    FORMAT,
    AnyRecord,
    Closed,
    Header,
    Lost,
    decode,
    decode_header,
)

MAGIC = b"parley journal\n"
SUFFIX = ".journal"

LEVEL = 6
"""Of zlib: 9 takes twice as long and gains one per cent on telephone sound."""

_BLOCK = struct.Struct("<II")
_RECORD = struct.Struct("<I")

LARGEST_BLOCK = 64_000_000
"""Bytes: more than the writer ever puts into one; a larger number is no length."""


class JournalError(ValueError):
    """A journal cannot be read; its text is for the operator and names the file."""


def packed(records: Iterable[bytes]) -> bytes:
    """Make a block of records that are encoded."""
    data = b"".join(_RECORD.pack(len(each)) + each for each in records)
    small = zlib.compress(data, LEVEL)
    return _BLOCK.pack(len(small), zlib.crc32(small)) + small


@dataclass(frozen=True, slots=True)
class CallJournal:
    """A journal as it was read."""

    path: Path
    header: Header
    records: tuple[AnyRecord, ...]
    cut: str
    "why it ends before the call did; empty: it does not"

    @property
    def seconds(self) -> float:
        """Return how much of the call it holds."""
        return self.records[-1].t - self.records[0].t if self.records else 0.0


def find(named: str, folder: Path) -> list[Path]:
    """Find the journals that somebody means: a file, a folder's, or a call's in `folder`.

    Raises JournalError that says where it was looked.
    """
    path = Path(named)
    if path.is_dir():
        found = sorted(path.glob(f"*{SUFFIX}"))
        if not found:
            raise JournalError(f"{path}: a folder without journals (*{SUFFIX})")
        return found
    if path.exists():
        return [path]
    beside = folder / f"{named}{SUFFIX}"
    if beside.is_file():
        return [beside]
    raise JournalError(
        f"{named}: no such file, and no such call in {folder}: calls have a journal where "
        "recording.journal = true"
    )


def read(path: Path) -> CallJournal:
    """Read a journal as far as it can be read; raises JournalError where there is nothing to it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror or error}") from None
    if not data.startswith(MAGIC):
        raise JournalError(f"{path}: not a call's journal: it does not begin with {MAGIC!r}")
    blocks = _Blocks(data)
    encoded = list(blocks.records())
    if not encoded:
        raise JournalError(f"{path}: cut before its first block: {blocks.problem or 'it is empty'}")
    header = _header(path, encoded[0])
    try:
        records = tuple(decode(each) for each in encoded[1:])
    except (msgspec.DecodeError, ValueError) as error:
        raise JournalError(f"{path}: a record cannot be understood: {error}") from None
    return CallJournal(path, header, records, _cut(records, blocks.problem))


def _header(path: Path, data: bytes) -> Header:
    try:
        told = msgspec.msgpack.decode(data)
        found = told.get("format") if isinstance(told, dict) else None
        if found != FORMAT:
            by = told.get("version", "?") if isinstance(told, dict) else "?"
            raise JournalError(
                f"{path}: format {found!r}, written by parley {by}; this one reads format {FORMAT}"
            )
        return decode_header(data)
    except msgspec.DecodeError as error:
        raise JournalError(f"{path}: its head cannot be understood: {error}") from None


def _cut(records: tuple[AnyRecord, ...], problem: str) -> str:
    last = records[-1] if records else None
    if isinstance(last, Closed):
        return ""
    if isinstance(last, Lost):
        return "more came than the disk took"
    return problem or "the process ended before the call did"


class _Blocks:
    """Takes the blocks of a file apart until one is not whole."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.problem = ""
        "why what follows could not be read"

    def records(self) -> Iterator[bytes]:
        """Yield record by record."""
        at = len(MAGIC)
        while at < len(self._data):
            block = self._block(at)
            if block is None:
                return
            at, data = block
            yield from self._split(data)

    def _block(self, at: int) -> tuple[int, bytes] | None:
        if at + _BLOCK.size > len(self._data):
            self.problem = f"half a block at byte {at}"
            return None
        size, check = _BLOCK.unpack_from(self._data, at)
        begin, end = at + _BLOCK.size, at + _BLOCK.size + size
        if size > LARGEST_BLOCK:
            self.problem = f"garbage in the place of a block at byte {at}"
            return None
        if end > len(self._data):
            self.problem = f"half a block at byte {at}"
            return None
        small = self._data[begin:end]
        if zlib.crc32(small) != check:
            self.problem = f"a block whose sum is wrong at byte {at}"
            return None
        return end, zlib.decompress(small)

    def _split(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            (size,) = _RECORD.unpack_from(data, at)
            at += _RECORD.size
            yield data[at : at + size]
            at += size
