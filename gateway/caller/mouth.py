"""What a caller says, 20 ms at a time, and when each frame gets on its way: a pure machine."""

from __future__ import annotations

from collections import deque

from gateway.caller.network import Network, NetworkSettings
from gateway.caller.playclock import Piece
from media.codec import WireForm
from media.frame import FRAME_SECONDS
from media.level import level

QUIET_DB = -55.0
"""Frames below this are silence to a carrier that does not send any."""


class Mouth:
    """Speaks what it was given, else silence; a bad network may lose or delay its frames."""

    def __init__(self, form: WireForm, network: NetworkSettings) -> None:
        self.frame = round(form.rate * FRAME_SECONDS)
        "samples of a frame"
        self.said: list[Piece] = []
        "what was spoken, without the silence in between"
        self._form = form
        self._silence = form.silence(self.frame)
        self._network = Network(network)
        self._spares_silence = network.drop_silent
        self._speech = memoryview(b"")
        self._leaving: deque[tuple[float, Piece]] = deque()

    def speak(self, pcm: bytes) -> None:
        """Say this from the next frame on."""
        self._speech = memoryview(self._form.encode(pcm))

    def pass_time(self, start: int, now: float) -> None:
        """Utter the frame that begins at position `start` and is complete now."""
        payload = self._silence
        if self._speech:
            size = len(self._silence)
            payload = bytes(self._speech[:size])
            self._speech = self._speech[size:]
            payload += self._silence[len(payload) :]
            self.said.append(Piece(start, payload))
        silent = self._spares_silence and level(self._form.decode(payload)) < QUIET_DB
        when = self._network.arrives(now, silent=silent)
        if when is not None:
            self._leaving.append((when, Piece(start, payload)))

    def due(self, now: float) -> list[Piece]:
        """Return the frames that leave by now."""
        leaving: list[Piece] = []
        while self._leaving and self._leaving[0][0] <= now:
            leaving.append(self._leaving.popleft()[1])
        return leaving

    @property
    def deadline(self) -> float | None:
        """When the next delayed frame leaves."""
        return self._leaving[0][0] if self._leaving else None
