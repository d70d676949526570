"""How the sound of a leg becomes payloads and back: one coder for each codec and call."""

from __future__ import annotations

from typing import Protocol

from gateway.lines.rtp.codecs import Codec
from media.codec import WireForm, wire_form


class Coder(Protocol):
    """Turns 16-bit samples at the codec's rate into payloads and back; may keep state."""

    frame_bytes: int
    "bytes of a payload of 20 ms; 0: it varies, and every payload has 20 ms"

    def encode(self, pcm: bytes) -> bytes:
        """Write 20 ms."""

    def decode(self, payload: bytes) -> bytes:
        """Read a payload; raises ValueError."""

    def units(self, payload: bytes) -> int:
        """Say how long a payload lasts, in units of the RTP clock."""


class Companded:
    """G.711: one byte a sample."""

    def __init__(self, form: WireForm) -> None:
        self.frame_bytes = form.rate // 50
        self._form = form

    def encode(self, pcm: bytes) -> bytes:
        """Write samples."""
        return self._form.encode(pcm)

    def decode(self, payload: bytes) -> bytes:
        """Read samples."""
        return self._form.decode(payload)

    def units(self, payload: bytes) -> int:
        """One unit a byte."""
        return len(payload)


def coder_for(codec: Codec) -> Coder:
    """Make the coder of a codec."""
    if codec.name in ("g722", "opus"):
        from gateway.lines.rtp.wideband import G722, Opus  # PyAV takes a moment to load

        return G722() if codec.name == "g722" else Opus()
    return Companded(wire_form(codec.name, codec.rate))


def playout_form(codec: Codec) -> WireForm:
    """Give the form in which playout holds the sound of a call with this codec."""
    if codec.name in ("pcmu", "pcma"):
        return wire_form(codec.name, codec.rate)
    return wire_form("l16", codec.rate)
