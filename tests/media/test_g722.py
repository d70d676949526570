"""G.722 against another implementation, which is held against the standard's own sequences."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest

from media.g722 import G722


def theirs(mode: Any) -> Any:
    context = av.CodecContext.create("g722", mode)
    context.sample_rate, context.layout, context.format = 16_000, "mono", "s16"
    if mode == "w":
        context.time_base = Fraction(1, 16_000)
    return context


def sound() -> np.ndarray[Any, np.dtype[np.int16]]:
    """Return two seconds: a tone, noise, full scale and silence."""
    at = np.arange(8000) / 16_000
    random = np.random.default_rng(7)
    parts = (
        8000 * np.sin(2 * np.pi * 440 * at) + 4000 * np.sin(2 * np.pi * 6100 * at),
        random.normal(0, 9000, 8000),
        32767 * np.sign(np.sin(2 * np.pi * 97 * at)),
        np.zeros(8000),
    )
    return np.clip(np.concatenate(parts), -32768, 32767).astype("<i2")


def encoded(pcm: bytes) -> bytes:
    codec = G722(16_000)
    return b"".join(codec.encode(pcm[at : at + 640]) for at in range(0, len(pcm), 640))


def test_every_bit_is_as_another_implementation_writes_it() -> None:
    context = theirs("w")
    frame = av.AudioFrame.from_ndarray(sound().reshape(1, -1), format="s16", layout="mono")
    frame.sample_rate, frame.pts = 16_000, 0
    packets = [*context.encode(frame), *context.encode(None)]
    assert encoded(sound().tobytes()) == b"".join(bytes(packet) for packet in packets)


def test_every_sample_is_as_another_implementation_reads_it() -> None:
    payload = encoded(sound().tobytes())
    frames = theirs("r").decode(av.Packet(payload))
    samples = np.concatenate([frame.to_ndarray().ravel() for frame in frames])
    assert G722(16_000).decode(payload) == samples.astype("<i2").tobytes()


def test_other_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="allowed rates are 8000, 16000"):
        G722(48_000)
