"""Our half of one stream: one clock, whole packets, silence where there is nothing, and keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.lines.rtp.codecs import KEYS_CLOCK, Codec
from gateway.lines.rtp.coder import Coder
from gateway.lines.rtp.dtmf import KeyWriter
from gateway.lines.rtp.packet import Sender
from media.codec import WireForm
from media.frame import FRAME_SECONDS

MAX_BEHIND = 10
"""Frames of silence that are made up for after a stall; beyond, the stream's clock jumps."""

SILENT_AFTER = 10
"""Silent frames after which an encoder has settled, and gives the same payload for more silence."""


@dataclass(frozen=True, slots=True)
class Sending:
    """How the far side wants our packets."""

    codec: Codec
    type: int
    "payload type"
    keys: int | None = None
    "payload type of pressed keys; None: it takes none"
    ptime_ms: int = 20
    "how much sound in a packet"
    keys_clock: int = KEYS_CLOCK
    "in which the length of a key is counted"


class Sounder:
    """Makes the packets of our sound."""

    def __init__(
        self,
        sending: Sending,
        form: WireForm,
        coders: Callable[[Codec], Coder],
        sender: Sender,
        keys: KeyWriter,
    ) -> None:
        """`form` is how playout holds the sound."""
        self.sender = sender
        self.keys = keys
        self.sent = 0
        "frames of 20 ms since the start, with those that were jumped over"
        self.jumped = 0
        "of these, frames in which nothing was sent"
        self._form = form
        self._coders = coders
        self._start: float | None = None
        self._paused = False
        self._sending = sending
        self.keys.tune(sending.keys_clock)
        self._begin(sending)

    def use(self, sending: Sending) -> None:
        """Go on in another way; what the codec knows is kept as long as the codec is."""
        before, self._sending = self._sending, sending
        if sending.keys_clock != before.keys_clock:
            self.keys.tune(sending.keys_clock)
        if sending.codec != before.codec or sending.ptime_ms != before.ptime_ms:
            self._begin(sending)

    def _begin(self, sending: Sending) -> None:
        self._coder = self._coders(sending.codec)
        self._buffer = b""
        self._settled = b""
        "the payload of silence, once the encoder gives no other"
        self._silent = 0

    @property
    def units(self) -> int:
        """Units of the RTP clock in 20 ms."""
        return self._sending.codec.clock // 50

    def expect_loss(self, share: float) -> None:
        """Take how much the far side loses."""
        self._coder.expect_loss(share)

    def press(self, keys: str) -> bool:
        """Press keys; False when the far side takes none beside its sound."""
        if self._sending.keys is None:
            return False
        self.keys.press(keys)
        return True

    def pause(self) -> None:
        """Send nothing until further notice: the far side has us on hold."""
        self._paused = True

    def tick(self, now: float, payloads: Sequence[bytes], more: bool) -> list[bytes]:
        """Return the packets of these 20 ms; `more` says that sound waits for its moment."""
        if self._start is None:
            self._start, self.sent = now, 0
            self.sender.mark()
        due = round((now - self._start) / FRAME_SECONDS) + 1
        if self._paused or due - self.sent > MAX_BEHIND:
            # RFC 3550, section 5.1: timestamps go on while nothing is sent, or a receiver takes
            # what follows a hold for late by the whole of it.
            self._jump(max(0, due - self.sent - 1))
            self._paused = False
        out = self._event()
        for payload in payloads:
            self._silent = 0
            out += self._sound(self._recode(payload))
        slack = 1 if more else 0
        while self.sent + slack < due:
            out += self._sound(self._quiet())
        return out

    def _jump(self, frames: int) -> None:
        self.sender.skip(frames * self.units)
        self.sender.mark()
        self.sent += frames
        self.jumped += frames
        self._buffer = b""

    def _recode(self, payload: bytes) -> bytes:
        """Turn playout's form into the codec's, where they differ."""
        if self._form.name == self._sending.codec.name:
            return payload
        return self._coder.encode(self._form.decode(payload))

    def _quiet(self) -> bytes:
        """Return the payload of 20 ms of silence."""
        if self._silent < SILENT_AFTER:
            self._silent += 1
            self._settled = self._recode(self._form.silence(self._form.rate // 50))
        return self._settled

    def _sound(self, payload: bytes) -> list[bytes]:
        """Packetise 20 ms as the far side wants it."""
        self.sent += 1
        sending, sender = self._sending, self.sender
        size = self._coder.frame_bytes * sending.ptime_ms // 20
        if not size or (size == len(payload) and not self._buffer):
            return [sender.sound(sending.type, payload, self.units)]
        self._buffer += payload
        units = self.units * sending.ptime_ms // 20
        out: list[bytes] = []
        while len(self._buffer) >= size:
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            out.append(sender.sound(sending.type, piece, units))
        return out

    def _event(self) -> list[bytes]:
        """Return the packet of the key that is pressed, beside the sound."""
        kind = self._sending.keys
        if kind is None or not self.keys.busy:
            return []
        event = self.keys.tick(self.sender.timestamp)
        if event is None:
            return []
        return [self.sender.event(kind, event.payload, event.timestamp, event.marker)]
