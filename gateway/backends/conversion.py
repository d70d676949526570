"""A line's sound as a model takes and gives it: passed through where both speak the same codec."""

from __future__ import annotations

from dataclasses import dataclass

from media.frame import AudioFrame
from media.resample import Resampler

QUIET = {"pcmu": b"\xff", "pcma": b"\xd5"}
"""A silent sample of each codec that is passed through."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A model's sound, for the line: as samples, or as it came."""

    pcm: bytes
    payload: bytes
    samples: int


class Conversion:
    """Converts one session's sound both ways; keeps the state of the resamplers."""

    def __init__(self, codec: str, line_rate: int, model_rate: int, *, passes: bool = True) -> None:
        """`passes`: the model speaks G.711, so that such a line's sound needs no conversion."""
        self.passes = codec if passes and codec in QUIET else ""
        self.width = 1 if self.passes else 2
        "bytes of a sample that is taken from the line"
        self._converts = line_rate != model_rate
        self._to_model = Resampler(line_rate, model_rate)
        self._to_line = Resampler(model_rate, line_rate)

    def taken(self, frame: AudioFrame) -> bytes:
        """Return what the model will be sent of a frame of the caller's, before it is converted."""
        if not self.passes:
            return frame.pcm
        if frame.codec == self.passes:
            return frame.payload
        # Silence that stands for what never came.
        return QUIET[self.passes] * (len(frame.pcm) // 2)

    def to_model(self, sound: bytes) -> bytes:
        """Convert what was taken; sound follows what was converted before."""
        return self._to_model.feed(sound) if self._converts and not self.passes else sound

    def frame_to_model(self, frame: AudioFrame) -> bytes:
        """Take a frame of the caller's and convert it at once."""
        return self.to_model(self.taken(frame))

    def rest_to_model(self) -> bytes:
        """Return what a resampler keeps for what follows, when nothing does: some 0.1 s."""
        return b"" if self.passes or not self._converts else self._to_model.flush()

    def to_line(self, sound: bytes) -> Heard:
        """Convert a piece of the model's."""
        if self.passes:
            return Heard(b"", sound, len(sound))
        pcm = self._to_line.feed(sound) if self._converts else sound
        return Heard(pcm, b"", len(pcm) // 2)

    def rest_to_line(self) -> bytes:
        """Return the rest of an utterance, as samples."""
        return b"" if self.passes or not self._converts else self._to_line.flush()
