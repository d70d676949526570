"""What comes on a leg before its call is ready: kept, in order, and handed over first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from gateway.ports import Ear, LineEvent
from media.frame import AudioFrame

EVENTS_KEPT = 50
"""Keys pressed before the call is ready; nobody presses more."""


class EarlyBuffer:
    """Gives sound and events to an ear, or keeps them until there is one.

    When it is full the latest is lost: a caller's first words are worth more.
    """

    def __init__(self, frames: int) -> None:
        self.lost = 0
        "how much did not fit"
        self.hear: Callable[[AudioFrame], None] = self._keep_frame
        "takes a frame; the ear's own, once there is one: this is asked fifty times a second"
        self._ear: Ear | None = None
        self._kept: deque[AudioFrame | LineEvent] = deque()
        self._frames = frames

    def attach(self, ear: Ear) -> None:
        """Hand over what was kept; from now on `ear` gets everything at once."""
        while self._kept:
            item = self._kept.popleft()
            if isinstance(item, AudioFrame):
                ear.hear(item)
            else:
                ear.notice(item)
        self._ear, self.hear = ear, ear.hear

    def notice(self, event: LineEvent) -> None:
        """Pass an event on."""
        if self._ear is not None:
            self._ear.notice(event)
        else:
            self._keep(event, self._frames + EVENTS_KEPT)

    def end(self, event: LineEvent) -> None:
        """Pass the last event on, for which there is always room."""
        if self._ear is not None:
            self._ear.notice(event)
        else:
            self._kept.append(event)

    def _keep_frame(self, frame: AudioFrame) -> None:
        self._keep(frame, self._frames)

    def _keep(self, item: AudioFrame | LineEvent, most: int) -> None:
        if len(self._kept) < most:
            self._kept.append(item)
        else:
            self.lost += 1
