"""Both sides of a recording: the caller, and what they heard at the time they heard it."""

from __future__ import annotations

from typing import Protocol

from media.codec import WireForm
from media.frame import AudioFrame


class StereoSink(Protocol):
    """Where both sides are written; positions are samples of the caller's stream."""

    def left(self, start: int, sound: bytes, form: WireForm | None = None) -> None:
        """Write the caller; PCM, or a wire form that is decoded off the loop."""

    def right(self, start: int, sound: bytes, form: WireForm | None = None) -> None:
        """Write the agent."""

    def cut_right(self, start: int) -> None:
        """Take back what the agent was going to say from `start` on."""

    def close(self) -> None:
        """Finish the file."""


class Track:
    """Places both sides on the caller's stream."""

    def __init__(self, sink: StereoSink, form: WireForm, name: str) -> None:
        self.name = name
        "of the file"
        self._sink = sink
        self._form = form
        self._next = 0

    def came(self, frame: AudioFrame) -> None:
        """The caller's next sound."""
        if frame.codec == self._form.name:
            self._sink.left(frame.start, frame.payload, self._form)
        else:
            self._sink.left(frame.start, frame.pcm)

    def went(self, position: int, payload: bytes) -> None:
        """A frame left when the caller's stream was at `position`; it plays after the last one."""
        start = max(self._next, position)
        self._sink.right(start, payload, self._form)
        self._next = start + len(payload) // self._form.bytes_per_sample

    def cleared(self, position: int) -> None:
        """The far side forgot what it had not played at `position`."""
        self._sink.cut_right(max(0, position))
        self._next = min(self._next, max(0, position))

    def close(self) -> None:
        """Finish."""
        self._sink.close()
