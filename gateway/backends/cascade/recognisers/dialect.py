"""What a streaming recogniser's protocol must say; the shell around it is the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gateway.backends.cascade.ports import Transcript
from gateway.backends.cascade.recognisers.heard import HeardWords

Message = str | bytes


class Dialect(Protocol):
    """One connection's protocol, as a pure machine; made anew for each connection."""

    def url(self) -> str:
        """Return the address with its query."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers that hold the key."""

    def hello(self) -> list[Message]:
        """Return what is sent first."""

    def sound(self, pcm: bytes) -> list[Message]:
        """Write a piece of sound."""

    def flush(self) -> list[Message]:
        """Ask for what is known of everything sent; nothing where there is no such thing."""

    def goodbye(self) -> list[Message]:
        """Return what ends a session well."""

    def receive(self, message: bytes) -> Transcript | None:
        """Take a message into the words; give the partial it brings, if it does.

        Raise ValueError where it is not understood, OSError where the server cannot go on.
        """


class DialectMaker(Protocol):
    """A vendor's way, with its settings."""

    @property
    def connect_seconds(self) -> float:
        """The longest a connection may take to open."""

    @property
    def answer_seconds(self) -> float:
        """The longest wait for words of sound that was sent."""

    @property
    def flushes(self) -> bool:
        """Whether it is asked to give what it knows when a turn's words are wanted."""

    def connection(
        self, words: HeardWords, rate: int, origin: int, hints: tuple[str, ...]
    ) -> Dialect:
        """Make the protocol of one connection whose first sample is at `origin`."""
