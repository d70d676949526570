"""How sound gets to another sampling rate without folding what the new rate cannot carry."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr

QUALITY = "MQ"
"""libsoxr's 16-bit recipe. It holds back 15 to 35 ms of sound between telephone, model and browser
rates, where the next better one (`HQ`) holds back up to 130 ms, and what it lets through above the
new Nyquist frequency is below what 16 bits resolve."""


class Resampler:
    """Takes one stream to another rate; keeps its state between pieces and is never reset.

    Output is aligned with input: what sounds at one second of the input sounds at one second of
    the output, and after `flush` both are equally long.
    """

    def __init__(self, source: int, target: int) -> None:
        """Begin a stream from `source` to `target` samples per second."""
        self.source = source
        self.target = target
        self._stream = None if source == target else _stream(source, target)

    def feed(self, pcm: bytes) -> bytes:
        """Take the next piece (signed 16-bit) and give what can be given by now, maybe nothing."""
        if self._stream is None:
            return pcm
        if not pcm:
            return b""
        resampled: bytes = self._stream.resample_chunk(np.frombuffer(pcm, dtype="<i2")).tobytes()
        return resampled

    def flush(self) -> bytes:
        """End the stream and give what was held back; a new stream may be fed afterwards."""
        if self._stream is None:
            return b""
        rest: bytes = self._stream.resample_chunk(np.zeros(0, dtype="<i2"), last=True).tobytes()
        self._stream = _stream(self.source, self.target)
        return rest


def convert(pcm: bytes, source: int, target: int) -> bytes:
    """Take a whole piece of sound to another rate."""
    if source == target or not pcm:
        return pcm
    samples = np.frombuffer(pcm, dtype="<i2")
    resampled: bytes = soxr.resample(samples, source, target, quality="HQ").tobytes()
    return resampled


def convert_samples(
    samples: npt.NDArray[np.float32], source: int, target: int
) -> npt.NDArray[np.float32]:
    """Take a whole piece of floating-point sound to another rate."""
    resampled: npt.NDArray[np.float32] = soxr.resample(samples, source, target, quality="HQ")
    return resampled


def _stream(source: int, target: int) -> soxr.ResampleStream:
    return soxr.ResampleStream(source, target, 1, dtype="int16", quality=QUALITY)
