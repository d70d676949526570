"""What sound looks like on the wire: the two laws of ITU-T G.711, and plain 16-bit samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

WireName = Literal["pcmu", "pcma", "l16"]

_Levels = npt.NDArray[np.int32]
_Codes = npt.NDArray[np.uint8]

L16_RATES = (8000, 12000, 16000, 24000, 32000, 44100, 48000)
"""Sampling rates of telephones, models and browsers; 20 ms is a whole number of samples at each."""


def _ulaw_magnitudes() -> _Levels:
    """Return the 128 magnitudes of ITU-T G.711, table 2, scaled from 14 to 16 bits."""
    code = np.arange(128, dtype=np.int32)
    segment, step = code >> 4, code & 0x0F
    return (((2 * step + 33) << segment) - 33) * 4


def _alaw_magnitudes() -> _Levels:
    """Return the 128 magnitudes of ITU-T G.711, table 1, scaled from 13 to 16 bits."""
    code = np.arange(128, dtype=np.int32)
    segment, step = code >> 4, code & 0x0F
    linear = 2 * step + 1
    curved = (2 * step + 33) << np.maximum(segment - 1, 0)
    return np.where(segment == 0, linear, curved) * 8


def _edges(magnitudes: _Levels, half_steps: _Levels) -> _Levels:
    """Return the lower edge of each magnitude's interval: half a step above the level below it."""
    edges = np.zeros(128, dtype=np.int32)
    edges[1:] = magnitudes[:-1] + half_steps[:-1]
    return edges


def _encoder(edges: _Levels, positive: _Codes, negative: _Codes) -> _Codes:
    """Tabulate the code of each of the 65536 samples, indexed by their unsigned 16-bit pattern.

    Every interval holds its lower edge and not its upper one, on both sides of zero, as in the
    reference implementation of ITU-T G.191.
    """
    value = np.arange(65536, dtype=np.int32)
    value[32768:] -= 65536
    magnitude = np.where(value < 0, ~value, value)
    level = np.searchsorted(edges, magnitude, side="right") - 1
    return np.where(value < 0, negative[level], positive[level]).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class _Law:
    """One companding law as two tables."""

    encode: _Codes
    "code of each 16-bit pattern"
    decode: npt.NDArray[np.int16]
    "16-bit sample of each code"
    low: bytes
    high: bytes
    "the same as its two bytes"


def _law(magnitudes: _Levels, edges: _Levels, invert: int) -> _Law:
    """Build a law; `invert` turns sign (1 is positive) and magnitude into the code sent."""
    plain = np.arange(128, dtype=np.uint8)
    positive = ((plain | 0x80) ^ invert).astype(np.uint8)
    negative = (plain ^ invert).astype(np.uint8)
    decode = np.zeros(256, dtype="<i2")
    decode[positive] = magnitudes
    decode[negative] = -magnitudes
    octets = decode.tobytes()
    return _Law(_encoder(edges, positive, negative), decode, octets[0::2], octets[1::2])


def _ulaw() -> _Law:
    magnitudes = _ulaw_magnitudes()
    half_steps = np.int32(4) << (np.arange(128, dtype=np.int32) >> 4)
    # Table 2: all bits but the sign are inverted for sending.
    return _law(magnitudes, _edges(magnitudes, half_steps), 0x7F)


def _alaw() -> _Law:
    magnitudes = _alaw_magnitudes()
    # Segments 0 and 1 share one step size.
    half_steps = np.int32(8) << np.maximum((np.arange(128, dtype=np.int32) >> 4) - 1, 0)
    # Table 1: the even bits are inverted for sending.
    return _law(magnitudes, _edges(magnitudes, half_steps), 0x55)


_LAWS: dict[str, _Law] = {"pcmu": _ulaw(), "pcma": _alaw()}


@dataclass(frozen=True, slots=True)
class WireForm:
    """How a line writes sound; encodes, decodes and softens it, and keeps no state."""

    name: WireName
    rate: int
    "samples per second"
    bytes_per_sample: int

    def silence(self, samples: int) -> bytes:
        """Return that many samples of silence."""
        return _SILENCE[self.name] * samples

    def encode(self, pcm: bytes) -> bytes:
        """Write signed 16-bit little-endian samples in this form."""
        if self.name == "l16":
            return pcm
        codes: bytes = _LAWS[self.name].encode[np.frombuffer(pcm, dtype="<u2")].tobytes()
        return codes

    def decode(self, payload: bytes) -> bytes:
        """Read this form into signed 16-bit little-endian samples."""
        if self.name == "l16":
            return payload
        law = _LAWS[self.name]
        # Twice as fast as looking samples up in an array.
        pcm = bytearray(2 * len(payload))
        pcm[0::2] = payload.translate(law.low)
        pcm[1::2] = payload.translate(law.high)
        return bytes(pcm)

    def attenuate(self, payload: bytes, gain_db: float) -> bytes:
        """Change the level by `gain_db` (negative: softer), staying in this form."""
        if gain_db == 0.0:
            return payload
        if self.name != "l16":
            return payload.translate(_gain_table(self.name, gain_db))
        scaled = np.frombuffer(payload, dtype="<i2") * np.float32(10 ** (gain_db / 20))
        return np.clip(np.rint(scaled), -32768, 32767).astype("<i2").tobytes()


@lru_cache(maxsize=64)
def _gain_table(name: str, gain_db: float) -> bytes:
    """Map each code to the code of the same sample at another level."""
    law = _LAWS[name]
    scaled = np.rint(law.decode.astype(np.float64) * 10 ** (gain_db / 20))
    clipped = np.clip(scaled, -32768, 32767).astype(np.int16)
    codes: bytes = law.encode[clipped.view(np.uint16)].tobytes()
    return codes


# Mu-law has a true zero; A-law's smallest positive level stands for it (G.711, tables 1 and 2).
# `l16` is little-endian, as models and sound libraries have it; RTP's L16 is the other way round.
_SILENCE: dict[str, bytes] = {"pcmu": b"\xff", "pcma": b"\xd5", "l16": b"\0\0"}


def wire_form(name: str, rate: int) -> WireForm:
    """Return the form called `name` at `rate`; raises ValueError saying what is allowed."""
    match name:
        case "pcmu" | "pcma":
            if rate != 8000:
                raise ValueError(f"{name} at {rate} Hz: G.711 is defined at 8000 Hz only")
            return WireForm(name, rate, 1)
        case "l16":
            if rate not in L16_RATES:
                allowed = ", ".join(str(one) for one in L16_RATES)
                raise ValueError(f"l16 at {rate} Hz: allowed rates are {allowed}")
            return WireForm(name, rate, 2)
        case _:
            raise ValueError(f"wire form {name!r}: allowed are pcmu, pcma, l16")
