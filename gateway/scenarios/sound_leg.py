"""The telephone of a simulated caller: plays what it is sent at once, and notes when it sounded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.events import CallerGone, CallInfo
from gateway.ports import Ear, Page, Witness
from gateway.scenarios.sound_parts import RATE
from media.codec import WireForm
from media.playout import Playout
from media.playout_vocabulary import Chunk

FRAME_SECONDS = 0.02
PAUSE_SECONDS = 0.3
"""What is shorter is a pause in speech: two stretches of sound with less between them are one."""


@dataclass(slots=True)
class Stretch:
    """The agent sounded without a pause."""

    start: float
    "seconds of the loop's clock"
    end: float


class SoundLeg:
    """A leg that is a telephone at no distance."""

    clocked = False
    cancels_echo = True  # what the caller hears does not come back
    witness: Witness | None = None
    page: Page | None = None

    def __init__(self, info: CallInfo) -> None:
        self.info = info
        self.playout = Playout(WireForm("pcmu", RATE, 1), lead=0, basis="sent")
        self.stretches: list[Stretch] = []
        self.sent: list[tuple[float, bytes]] = []
        "when each frame was heard, in wire form"
        self.waiting: int | None = None
        "samples that had not been heard when the agent hung up; None: it did not"
        self._ear: Ear | None = None

    @property
    def quiet_since(self) -> float:
        """When the agent was last heard; 0 before that."""
        return self.stretches[-1].end if self.stretches else 0.0

    def attach(self, ear: Ear) -> None:
        """Report to the call."""
        self._ear = ear

    def behind(self) -> float:
        """Return no delay."""
        return 0.0

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Let the caller hear it."""
        if not chunks:
            return
        now = asyncio.get_running_loop().time()
        self.sent += [(now, chunk.payload) for chunk in chunks]
        if self.stretches and now - self.stretches[-1].end < PAUSE_SECONDS:
            self.stretches[-1].end = now + FRAME_SECONDS
        else:
            self.stretches.append(Stretch(now, now + FRAME_SECONDS))

    def poll(self, now: float) -> None:
        """Give nothing: sound comes by itself."""

    def clear(self) -> None:
        """Forget nothing: all that came was heard."""

    def send_keys(self, keys: str) -> None:
        """Hear keys."""

    def transfer(self, target: str, summary: str) -> None:
        """Go nowhere: scenarios end where a transfer begins."""

    def hang_up(self, reason: str) -> None:
        """Be hung up on."""
        self.waiting = self.playout.waiting
        if self._ear is not None:
            self._ear.notice(CallerGone(reason))
