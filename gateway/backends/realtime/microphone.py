"""The caller's sound on its way to the model: sent from where a turn may have begun."""

from __future__ import annotations

from collections import deque

from gateway.backends.conversion import Conversion
from gateway.backends.realtime import wire
from media.frame import AudioFrame

PREFIX_SECONDS = 0.3
"""Sound sent from before the first voiced sample: soft onsets lie there (the API's own turn
detection keeps as much)."""

KEPT_SECONDS = 3.0
"""Sound kept while nobody is known to speak: the gate needs up to half a second to be sure, and
what was taken for a nod belongs to a turn that begins within a second of it."""

KEPT_FRAMES = 150
"""The same in frames."""

GATHERED = 3
"""Frames that go in one message, 60 ms: the model answers a turn that is committed, and then has
all of it; a message for each frame would cost three times as much."""

LONGEST_WAIT = 30.0
"""Seconds kept before the session is up: then the server is gone."""


class Microphone:
    """Keeps sound until it is wanted, then writes all of it as it comes."""

    def __init__(self, sound: Conversion, rate: int, *, always: bool) -> None:
        """`rate` is the line's; `always`: the model decides about turns, and hears everything."""
        self._sound = sound
        self._rate = rate
        self._at_once = 1 if always else GATHERED
        self._gathered: list[bytes] = []
        # Of a frame that is kept no more is kept than what will be sent of it: what is let go of
        # at once lies in the processor's cache, and after a second and a half it does not.
        self._kept: deque[bytes] = deque()
        self._end = 0
        "position after the last frame; frames follow each other"
        self._samples = 0
        "kept"
        self.open = always
        self._taken: deque[bytes] | None = None if always else deque(maxlen=KEPT_FRAMES)
        "what was sent since the turn began, in case it is found to be none, and then to be one"

    def hear(self, frame: AudioFrame, *, ready: bool) -> str | None:
        """Take a frame; give what is sent of it."""
        sound = self._sound.taken(frame)
        if self.open and ready:
            self._end = frame.end
            if self._taken is not None:
                self._taken.append(sound)
            self._gathered.append(self._sound.to_model(sound))
            if len(self._gathered) < self._at_once:
                return None
            return self._write(b"")
        self._kept.append(sound)
        samples = len(sound) // self._sound.width
        self._end = frame.start + samples
        self._samples += samples
        most = (LONGEST_WAIT if self.open else KEPT_SECONDS) * self._rate
        while self._samples > most:
            self._samples -= len(self._kept.popleft()) // self._sound.width
        return None

    def since(self, start: int | None) -> list[str]:
        """Write what was kept from a position on, in whole frames; None: all of it."""
        wanted = None if start is None else start - int(PREFIX_SECONDS * self._rate)
        at = self._end - self._samples
        sound = b""
        for each in self._kept:
            at += len(each) // self._sound.width
            if wanted is None or at > wanted:
                sound += self._sound.to_model(each)
        if self._taken is not None and wanted is not None:
            self._taken.extend(self._kept)
        self._kept.clear()
        self._samples = 0
        return [wire.append_audio(sound)] if sound else []

    def disregard(self) -> None:
        """Send nothing more of what was no turn, and keep it for a turn that it belongs to."""
        self.open = False
        self._gathered.clear()
        taken = self._taken or deque()
        self._samples += sum(len(each) for each in taken) // self._sound.width
        self._kept.extendleft(reversed(taken))
        taken.clear()

    def rest(self) -> list[str]:
        """Write what is left of a turn that is over."""
        if self._taken is not None:
            self._taken.clear()
        rest = self._sound.rest_to_model()
        return [self._write(rest)] if rest or self._gathered else []

    def _write(self, last: bytes) -> str:
        """Write what was gathered, and what follows it."""
        sound = b"".join(self._gathered) + last
        self._gathered.clear()
        return wire.append_audio(sound)
