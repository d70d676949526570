"""What drives a call from outside of its ports: the time, the beat, and the operator's side.

A call that has a course takes its time from there alone, so that it can be told the time of another
day; others have the loop's.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from gateway.call.conversation.vocabulary import Event
from gateway.events import EndAsked, TransferAsked


class Course(Protocol):
    """Gives a call its time, and watches what is not seen at a port."""

    def now(self) -> float:
        """Return the time, in loop seconds."""

    def sending(self, now: float) -> None:
        """Take that the call is about to send what is due."""

    def ticking(self, now: float) -> None:
        """Take that the call is about to notice what has come to pass."""

    def asked(self, event: EndAsked | TransferAsked) -> None:
        """Take that the operator's side is about to end the call, or to put the caller through."""

    def posted(self, event: Event) -> None:
        """Take what the conversation is about to be told."""


def loop_time() -> float:
    """Return the running loop's time."""
    return asyncio.get_running_loop().time()
