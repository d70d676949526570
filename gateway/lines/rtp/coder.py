"""How the sound of a call becomes payloads and back, at the call's own rate whatever the codec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gateway.lines.rtp.codecs import Codec
from media import opus
from media.codec import WireForm, wire_form
from media.g722 import G722
from media.resample import Resampler

OPUS_BITS = 32_000
"""A second: wideband speech without audible loss (RFC 7587, section 3.1.1: 28 to 40 kbit/s)."""

LEAST_LOSS = 0.1
"""Share of lost packets that Opus is always ready for: loss comes unannounced."""

Mend = Callable[[int, bytes | None], bytes]
"""Makes up for samples that are missing; see `media.reception.Reception`."""


class Coder(Protocol):
    """Turns 16-bit samples at the call's rate into payloads and back; may keep state."""

    frame_bytes: int
    "bytes of a payload of 20 ms; 0: it varies, and every payload has 20 ms"

    @property
    def mend(self) -> Mend | None:
        """The codec's own concealment, where it has one."""

    def encode(self, pcm: bytes) -> bytes:
        """Write 20 ms."""

    def decode(self, payload: bytes) -> bytes:
        """Read a payload; raises ValueError."""

    def units(self, payload: bytes) -> int:
        """Return how long a payload lasts, in units of the RTP clock; 0 for garbage."""

    def expect_loss(self, share: float) -> None:
        """Take how much the far side loses."""


class _Companded:
    """G.711: one byte a sample of 8 kHz."""

    mend: Mend | None = None
    frame_bytes = 160

    def __init__(self, form: WireForm, rate: int) -> None:
        self._form = form
        self._up, self._down = Resampler(form.rate, rate), Resampler(rate, form.rate)

    def encode(self, pcm: bytes) -> bytes:
        """Write samples."""
        return self._form.encode(self._down.feed(pcm))

    def decode(self, payload: bytes) -> bytes:
        """Read samples."""
        return self._up.feed(self._form.decode(payload))

    def units(self, payload: bytes) -> int:
        """One unit a byte."""
        return len(payload)

    def expect_loss(self, share: float) -> None:
        """There is nothing to be done."""


class _G722:
    """64 kbit/s: one byte is one unit of its RTP clock of 8 kHz."""

    mend: Mend | None = None
    frame_bytes = 160

    def __init__(self, rate: int) -> None:
        own = 8000 if rate == 8000 else 16000
        self._encoder, self._decoder = G722(own), G722(own)
        self._up, self._down = Resampler(own, rate), Resampler(rate, own)

    def encode(self, pcm: bytes) -> bytes:
        """Write samples."""
        return self._encoder.encode(self._down.feed(pcm))

    def decode(self, payload: bytes) -> bytes:
        """Read samples."""
        return self._up.feed(self._decoder.decode(payload))

    def units(self, payload: bytes) -> int:
        """One unit a byte."""
        return len(payload)

    def expect_loss(self, share: float) -> None:
        """There is nothing to be done."""


class _Opus:
    """Opus, which goes to the call's rate by itself, and mends what is missing by its own means."""

    frame_bytes = 0

    def __init__(self, rate: int, bitrate: int) -> None:
        self._encoder = opus.OpusEncoder(rate, bitrate=bitrate, loss=LEAST_LOSS)
        self._decoder = opus.OpusDecoder(rate)
        self.encode = self._encoder.encode
        self.decode = self._decoder.decode
        self.mend: Mend | None = self._decoder.mend
        self.units = opus.units

    def expect_loss(self, share: float) -> None:
        """Send more copies of what was said where more is lost."""
        self._encoder.expect_loss(max(LEAST_LOSS, share))


def coder_for(codec: Codec, rate: int, bitrate: int = OPUS_BITS) -> Coder:
    """Make the coder of a codec for a call at a rate; `bitrate` is that of Opus."""
    match codec.name:
        case "opus":
            return _Opus(rate, bitrate)
        case "g722":
            return _G722(rate)
        case _:
            return _Companded(wire_form(codec.name, codec.rate), rate)


def playout_form(codec: Codec) -> WireForm:
    """Return the form in which playout holds the sound of a call that began with this codec."""
    if codec.name in ("pcmu", "pcma"):
        return wire_form(codec.name, codec.rate)
    return wire_form("l16", codec.rate)
