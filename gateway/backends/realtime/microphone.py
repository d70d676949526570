"""The caller's sound on its way to the model: sent from where a turn may have begun."""

from __future__ import annotations

from collections import deque

from gateway.backends.conversion import Conversion
from gateway.backends.realtime import wire
from media.frame import AudioFrame

PREFIX_SECONDS = 0.3
"""Sound sent from before the first voiced sample: soft onsets lie there (the API's own turn
detection keeps as much)."""

KEPT_SECONDS = 1.5
"""Sound kept while nobody is known to speak: the gate needs up to half a second to be sure."""

GATHERED = 3
"""Frames that go in one message, 60 ms: the model answers a turn that is committed, and then has
all of it; a message for each frame would cost three times as much."""

MOST_FRAMES = 1500
"""Half a minute kept before the session is up: then the server is gone."""


class Microphone:
    """Keeps sound until it is wanted, then writes all of it as it comes."""

    def __init__(self, sound: Conversion, *, always: bool) -> None:
        """`always`: the model decides about turns, and hears everything at once."""
        self._sound = sound
        self._at_once = 1 if always else GATHERED
        self._gathered: list[bytes] = []
        self._kept: deque[AudioFrame] = deque()
        self.open = always

    def hear(self, frame: AudioFrame, *, ready: bool) -> str | None:
        """Take a frame; give what is sent of it."""
        if self.open and ready:
            self._gathered.append(self._sound.to_model(frame))
            if len(self._gathered) < self._at_once:
                return None
            return self._write(b"")
        self._kept.append(frame)
        oldest = frame.end - int(KEPT_SECONDS * frame.rate)
        while self._kept and self._kept[0].end < oldest and not self.open:
            self._kept.popleft()
        while len(self._kept) > MOST_FRAMES:
            self._kept.popleft()
        return None

    def since(self, start: int | None) -> list[str]:
        """Write what was kept from a position on; None: all of it."""
        sent = [
            wire.append_audio(self._sound.to_model(frame))
            for frame in self._kept
            if start is None or frame.end > start - int(PREFIX_SECONDS * frame.rate)
        ]
        self._kept.clear()
        return sent

    def disregard(self) -> None:
        """Send nothing more of what was no turn."""
        self.open = False
        self._gathered.clear()

    def rest(self) -> list[str]:
        """Write what is left of a turn that is over."""
        rest = self._sound.rest_to_model()
        return [self._write(rest)] if rest or self._gathered else []

    def _write(self, last: bytes) -> str:
        """Write what was gathered, and what follows it."""
        sound = b"".join(self._gathered) + last
        self._gathered.clear()
        return wire.append_audio(sound)
