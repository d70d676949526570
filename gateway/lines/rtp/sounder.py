"""Our half of one stream: one clock, whole packets, silence where there is nothing, and keys."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.lines.rtp.coder import coder_for
from gateway.lines.rtp.keys import KeyWriter
from gateway.lines.rtp.offer import Agreement
from gateway.lines.rtp.packet import Sender
from media.codec import WireForm
from media.frame import FRAME_SECONDS

MAX_BEHIND = 10
"""Frames of silence that are made up for after a stall; beyond, the stream's clock jumps."""


class Sounder:
    """Makes the packets of our sound."""

    def __init__(
        self, agreement: Agreement, form: WireForm, sender: Sender, keys: KeyWriter
    ) -> None:
        """`form` is how playout holds the sound."""
        self.sender = sender
        self.keys = keys
        self._form = form
        self._buffer = b""
        self._start: float | None = None
        self._paused = False
        self._sent = 0
        "frames since the start"
        self.use(agreement)

    def use(self, agreement: Agreement) -> None:
        """Go on under a new agreement."""
        codec = agreement.codec
        self._agreement = agreement
        self._coder = coder_for(codec)
        self._silence = self._coder.encode(bytes(codec.rate // 25))
        self._units = codec.clock // 50
        self._buffer = b""

    def retype(self, agreement: Agreement) -> None:
        """Take payload types of a new agreement that has the same codec and packet length."""
        self._agreement = agreement

    def pause(self) -> None:
        """Send nothing until further notice: the far side has us on hold."""
        self._paused = True

    def tick(self, now: float, payloads: Sequence[bytes], more: bool) -> list[bytes]:
        """Give the packets of these 20 ms; `more` says that sound waits for its moment."""
        if self._start is None:
            self._start, self._sent = now, 0
            self.sender.mark()
        due = round((now - self._start) / FRAME_SECONDS) + 1
        if self._paused or due - self._sent > MAX_BEHIND:
            # RFC 3550, section 5.1: timestamps go on while nothing is sent, or a receiver takes
            # what follows a hold for late by the whole of it.
            self._jump(max(0, due - self._sent - 1))
            self._paused = False
        out = self._event()
        for payload in payloads:
            out += self._sound(self._recode(payload))
        slack = 1 if more else 0
        while self._sent + slack < due:
            out += self._sound(self._silence)
        return out

    def _jump(self, frames: int) -> None:
        self.sender.skip(frames * self._units)
        self.sender.mark()
        self._sent += frames
        self._buffer = b""

    def _recode(self, payload: bytes) -> bytes:
        """Turn playout's form into the codec's, where they differ."""
        if self._form.name == self._agreement.codec.name:
            return payload
        return self._coder.encode(self._form.decode(payload))

    def _sound(self, payload: bytes) -> list[bytes]:
        """Packetise 20 ms as the far side wants it."""
        self._sent += 1
        agreement, sender = self._agreement, self.sender
        size = self._coder.frame_bytes * agreement.ptime_ms // 20
        if not size or (size == len(payload) and not self._buffer):
            return [sender.sound(agreement.send_type, payload, self._units)]
        self._buffer += payload
        units = self._units * agreement.ptime_ms // 20
        out: list[bytes] = []
        while len(self._buffer) >= size:
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            out.append(sender.sound(agreement.send_type, piece, units))
        return out

    def _event(self) -> list[bytes]:
        """Give the packet of the key that is pressed, beside the sound."""
        kind = self._agreement.keys_send
        if kind is None or not self.keys.busy:
            return []
        event = self.keys.tick(self.sender.timestamp)
        if event is None:
            return []
        return [self.sender.event(kind, event.payload, event.timestamp, event.marker)]
