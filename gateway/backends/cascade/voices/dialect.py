"""What a voice's streaming protocol must say; the shell around it is the same for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class VoiceNews:
    """What a message of the voice means for the utterance that is being spoken."""

    pcm: bytes = b""
    "more of its sound"
    times: tuple[tuple[float, float], ...] = ()
    "when its next words sound, in seconds from its first sample; given before or with the sound"
    done: bool = False
    "all of it was given"


NOTHING = VoiceNews()


class VoiceDialect(Protocol):
    """One connection's protocol, as a pure machine; may speak several utterances in turn."""

    rate: int
    "samples per second of the sound it gives"
    times: bool
    "it says itself when its words sound"
    reusable: bool
    "a connection serves more than one utterance"

    def url(self) -> str:
        """Return the address with its query."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers that hold the key."""

    def begin(self) -> Sequence[str]:
        """Begin an utterance."""

    def say(self, text: str) -> Sequence[str]:
        """Say whole words more of it."""

    def finish(self) -> Sequence[str]:
        """No more text comes."""

    def cancel(self) -> Sequence[str]:
        """Stop; `clean` follows, at once or as a message."""

    @property
    def clean(self) -> bool:
        """Whether the next utterance can begin."""

    def receive(self, message: bytes) -> VoiceNews:
        """Take a text message; raise ValueError where it is not understood, and OSError where the
        voice says that it cannot go on."""

    def sound(self, message: bytes) -> VoiceNews:
        """Take a binary message."""


class VoiceMaker(Protocol):
    """A vendor's way, with its settings."""

    @property
    def connect_seconds(self) -> float:
        """The longest a connection may take to open."""

    @property
    def silent_seconds(self) -> float:
        """The longest silence once all text was sent."""

    def connection(self, rate: int) -> VoiceDialect:
        """Make the protocol of one connection for a line of that rate."""
