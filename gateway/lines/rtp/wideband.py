"""G.722 and Opus through PyAV: the codecs of telephones that carry more than 3.4 kHz."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import av
import numpy as np

OPUS_BITS = 32_000
"""A second: wideband speech without audible loss (RFC 7587, section 3.1.1: 28 to 40 kbit/s)."""


class _Av:
    """One codec of PyAV in both directions, mono, 16 bits."""

    def __init__(self, name: str, rate: int, options: dict[str, str] | None = None) -> None:
        self._rate = rate
        self._encoder: Any = av.CodecContext.create(name, "w")
        self._decoder: Any = av.CodecContext.create(name, "r")
        contexts: tuple[Any, ...] = (self._encoder, self._decoder)
        for context in contexts:
            context.sample_rate = rate
            context.layout = "mono"
            context.format = "s16"
        self._encoder.time_base = Fraction(1, rate)
        self._encoder.options = options or {}
        self._sent = 0

    def encode(self, pcm: bytes) -> bytes:
        """Write samples; the codec may hold some of them back."""
        frame = av.AudioFrame.from_ndarray(
            np.frombuffer(pcm, dtype="<i2").reshape(1, -1), format="s16", layout="mono"
        )
        frame.sample_rate = self._rate
        frame.pts, self._sent = self._sent, self._sent + len(pcm) // 2
        frame.time_base = Fraction(1, self._rate)
        return b"".join(bytes(packet) for packet in self._encoder.encode(frame))

    def decode(self, payload: bytes) -> bytes:
        """Read a payload; raises ValueError for garbage."""
        try:
            frames = self._decoder.decode(av.Packet(payload))
        except av.FFmpegError as error:
            raise ValueError(f"not decodable: {error}") from error
        return b"".join(_mono(frame) for frame in frames)


def _mono(frame: Any) -> bytes:
    samples = frame.to_ndarray()
    if samples.dtype != np.int16:
        samples = np.clip(samples * 32768.0, -32768, 32767).astype(np.int16)
    channels = len(frame.layout.channels)
    if channels > 1:
        planar = samples if samples.shape[0] == channels else samples.reshape(-1, channels).T
        samples = planar.astype(np.int32).mean(axis=0).astype(np.int16)
    pcm: bytes = samples.astype("<i2").tobytes()
    return pcm


class G722:
    """64 kbit/s at 16 kHz: one byte holds two samples, and one unit of its RTP clock of 8 kHz."""

    frame_bytes = 160

    def __init__(self) -> None:
        self._av = _Av("g722", 16_000)

    def encode(self, pcm: bytes) -> bytes:
        """Write samples."""
        return self._av.encode(pcm)

    def decode(self, payload: bytes) -> bytes:
        """Read samples."""
        return self._av.decode(payload)

    def units(self, payload: bytes) -> int:
        """One unit a byte."""
        return len(payload)


_OPUS_MS = (10, 20, 40, 60) * 3 + (10, 20) * 2 + (2.5, 5, 10, 20) * 4
"""RFC 6716, table 2: length of a frame by the configuration in its first byte."""


class Opus:
    """Speech at 48 kHz, mono."""

    frame_bytes = 0

    def __init__(self) -> None:
        options = {"application": "voip", "frame_duration": "20", "b": str(OPUS_BITS)}
        self._av = _Av("libopus", 48_000, options)

    def encode(self, pcm: bytes) -> bytes:
        """Write 20 ms."""
        return self._av.encode(pcm)

    def decode(self, payload: bytes) -> bytes:
        """Read a packet."""
        return self._av.decode(payload)

    def units(self, payload: bytes) -> int:
        """Read the length of a packet from its first bytes (RFC 6716, section 3.1)."""
        if not payload:
            return 0
        length = _OPUS_MS[payload[0] >> 3]
        match payload[0] & 0x03:
            case 0:
                count = 1
            case 1 | 2:
                count = 2
            case _:
                count = payload[1] & 0x3F if len(payload) > 1 else 0
        return round(48 * length * count) if length * count <= 120 else 0
