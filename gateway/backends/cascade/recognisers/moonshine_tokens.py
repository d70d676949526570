"""Knows the pieces that Moonshine writes words with, and how text is cut into them."""

from __future__ import annotations

from collections.abc import Iterable

UNKNOWN, START, END = 0, 1, 2
FIRST_BYTE = 3
"""Ids 3 to 258 stand for single bytes, for what no piece can write."""
FIRST_PIECE = FIRST_BYTE + 256
SPACE = "\u2581"
"""How a piece says that a space comes before it (SentencePiece)."""


class Tokens:
    """The vocabulary: ids to text and text to ids."""

    def __init__(self, data: bytes) -> None:
        """Read a `tokenizer.bin`: each piece has its length before it; raise ValueError."""
        self._pieces = tuple(_pieces(data))
        if len(self._pieces) <= FIRST_PIECE:
            raise ValueError(f"a tokenizer of {len(self._pieces)} pieces is too short")
        self._ids: dict[str, int] = {}
        for number in range(FIRST_PIECE, len(self._pieces)):
            self._ids.setdefault(self._pieces[number].decode(errors="replace"), number)

    def __len__(self) -> int:
        """Count the pieces."""
        return len(self._pieces)

    def text(self, ids: Iterable[int]) -> str:
        """Write ids out; start, end and unknown are nothing."""
        written = b"".join(self._pieces[number] for number in ids if number > END)
        return written.decode(errors="replace").replace(SPACE, " ").strip()

    def encode(self, text: str) -> tuple[int, ...]:
        """Cut text into ids, as byte pair encoding does: the pair with the lowest id merges first.

        Ids are in the order in which the pairs were learnt, so that they serve as their ranks.
        """
        parts = list(SPACE + text.replace(" ", SPACE))
        while True:
            pairs = [
                (self._ids[pair], place)
                for place in range(len(parts) - 1)
                if (pair := parts[place] + parts[place + 1]) in self._ids
            ]
            if not pairs:
                break
            _, place = min(pairs)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        found: list[int] = []
        for part in parts:
            if part in self._ids:
                found.append(self._ids[part])
            else:
                found.extend(FIRST_BYTE + byte for byte in part.encode())
        return tuple(found)


def _pieces(data: bytes) -> Iterable[bytes]:
    """Split the file; a length of 128 or more takes two bytes, the lower seven bits first."""
    at = 0
    while at < len(data):
        length = data[at]
        at += 1
        if length >= 128:
            if at >= len(data):
                raise ValueError("a tokenizer ends inside a length")
            length = length - 128 + data[at] * 128
            at += 1
        if at + length > len(data):
            raise ValueError("a tokenizer ends inside a piece")
        yield data[at : at + length]
        at += length
