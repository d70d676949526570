"""The vocabulary of the heard-ledger: positions, marks, chunks, and what playout reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

Basis = Literal["acknowledged", "sent", "estimated"]
"""How a heard figure is known: the far side said so, it follows from sending, or is a guess."""

Holder = Literal["caller", "line", "path"]
"""Who keeps sound from leaving: the caller, who makes a sound that is being judged, the line, at
whose other end nobody listens, or the path, of which nobody knows yet whether it leads anywhere."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Names the end of a piece of sound, to be echoed by the far side when it has played it."""

    generation: int
    utterance: int
    end: int
    "position in the utterance, in samples"

    def name(self) -> str:
        """Write the mark as the far side will echo it."""
        return f"g{self.generation}:u{self.utterance}:{self.end}"

    @staticmethod
    def parse(name: str) -> Mark:
        """Read what `name` wrote; raises ValueError for anything else."""
        parts = name.split(":")
        if len(parts) == 3 and parts[0][:1] == "g" and parts[1][:1] == "u":
            digits = (parts[0][1:], parts[1][1:], parts[2])
            if all(one.isascii() and one.isdigit() and len(one) < 16 for one in digits):
                return Mark(*(int(one) for one in digits))
        raise ValueError(f"not a mark of ours: {name[:40]!r}")


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One frame that leaves now."""

    utterance: int
    generation: int
    start: int
    "position of its first sample in the utterance"
    end: int
    "position after its last sample, not counting padding"
    payload: bytes
    "wire form, always a whole frame"
    last: bool
    "nothing follows in this utterance; not set if its end became known only afterwards"

    @property
    def mark(self) -> Mark:
        """The mark that says this chunk was played."""
        return Mark(self.generation, self.utterance, self.end)


@dataclass(frozen=True, slots=True)
class Position:
    """What is known of one utterance's way to the caller's ear, in samples."""

    utterance: int
    queued: int
    "pushed, in all"
    sent: int
    "left this process; what was taken back to be sent again has not"
    heard: int
    "reached the caller's ear"
    error: int
    "the heard figure is right within this many samples"
    basis: Basis
    finished: bool = False
    "everything was pushed and everything was heard"


@dataclass(frozen=True, slots=True)
class Began:
    """The caller hears the first sample of an utterance."""

    utterance: int
    when: float
    "loop seconds at which it was heard"


@dataclass(frozen=True, slots=True)
class Finished:
    """An utterance was heard to its end."""

    position: Position


@dataclass(frozen=True, slots=True)
class Dry:
    """Nothing waits, nothing more is to come, everything sent was heard."""


@dataclass(frozen=True, slots=True)
class Stalled:
    """There is sound to send and none leaves."""

    seconds: float


PlayoutEvent = Began | Finished | Dry | Stalled
