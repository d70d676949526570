"""One caller on the SIP line, after the call was answered: the `Leg` of the gateway's ports."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from gateway.events import BeepHeard, CallerGone, CallerKey, CallHeld, CallInfo, CallReleased
from gateway.lines.rtp.media_socket import MediaSockets
from gateway.lines.rtp.offer import Agreement
from gateway.lines.rtp.reports import Quality
from gateway.lines.rtp.stream import RtpStream
from gateway.lines.sip.music import Loop
from gateway.lines.sip.path import Path
from gateway.ports import Ear, LineEvent
from media.beep import BeepDetector
from media.frame import FRAME_SECONDS, AudioFrame
from media.playout import Chunk, Playout

BEEP_WITHIN = 90.0
"""Seconds of a call that was placed in which a machine may beep: greetings are shorter."""

EVENTS_KEPT = 32
"""Keys pressed before the call listens; nobody presses more."""

FAR_BUFFER = 0.04
"""Seconds that a telephone's jitter buffer holds; it is on the way to the ear, and not in RTCP."""

FAR_ERROR = 0.03
"""Telephones hold 10 to 70 ms."""


class _Post:
    """Brings what the line has to the call, from when it listens; keeps events until then."""

    def __init__(self, beeps: BeepDetector | None) -> None:
        self._ear: Ear | None = None
        self._early: deque[LineEvent] = deque(maxlen=EVENTS_KEPT)
        self._beeps = beeps
        self._listened = 0.0
        "seconds"

    @property
    def attached(self) -> bool:
        """Whether somebody listens."""
        return self._ear is not None

    def attach(self, ear: Ear) -> None:
        """Bring everything to `ear`, what came before first."""
        self._ear = ear
        while self._early:
            ear.notice(self._early.popleft())

    def hear(self, frame: AudioFrame) -> None:
        """Bring sound; what came before anybody listened is over."""
        if self._ear is None:
            return
        self._ear.hear(frame)
        if self._beeps is not None:
            self._listened += FRAME_SECONDS
            if self._beeps.feed(frame):
                self._ear.notice(BeepHeard())
            if self._listened > BEEP_WITHIN:
                self._beeps = None

    def notice(self, event: LineEvent) -> None:
        """Bring an event."""
        if self._ear is None:
            self._early.append(event)
        else:
            self._ear.notice(event)


class LegControl(Protocol):
    """What a leg asks of its line."""

    def press_by_info(self, leg: SipLeg, keys: str) -> None:
        """Press keys in signalling, since the media know none."""

    def transfer_leg(self, leg: SipLeg, target: str, summary: str) -> None:
        """Hand the caller on."""

    def end_leg(self, leg: SipLeg, reason: str) -> None:
        """End the call."""

    def leg_is_dead(self, leg: SipLeg, seconds: float) -> None:
        """The far end has sent nothing for so long."""


class SipLeg:
    """Turns chunks into packets and packets into what the call hears; knows no signalling."""

    clocked = True
    cancels_echo = False
    witness = None
    page = None

    def __init__(
        self,
        info: CallInfo,
        stream: RtpStream,
        sockets: MediaSockets,
        control: LegControl,
        media_timeout: float,
    ) -> None:
        self.info = info
        self.playout = Playout(stream.form, lead=0, latency=FAR_BUFFER, basis="sent")
        self._stream = stream
        self._sockets = sockets
        self._control = control
        self._timeout = media_timeout
        self._post = _Post(BeepDetector() if info.screened else None)
        self._held = not stream.sends
        self._gone = False
        self._music: Loop | None = None
        self._round_trip: float | None = None
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._path = Path(self.playout, self._since)
        sockets.start(self._received)

    # --- what the call asks for --------------------------------------------------------------

    def attach(self, ear: Ear) -> None:
        """Give sound and events to `ear` from now on; what came before is handed over first."""
        self._since = self._loop.time()
        self._post.attach(ear)
        if self._stream.last_heard is None:
            self._path.begin(self._since)
        if self._held:
            self._post.notice(CallHeld("hold", self._since))

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Send 20 ms, sound or silence."""
        if self._gone:
            return
        waiting = self.playout.waiting > 0
        payloads = [chunk.payload for chunk in chunks]
        if self._music is not None and not chunks:
            payloads.append(self._music.next())
        for datagram in self._stream.tick(self._loop.time(), payloads, waiting):
            self._sockets.send(datagram)

    def poll(self, now: float) -> None:
        """Hear 20 ms, and notice a far end that is gone."""
        if self._gone:
            return
        frame = self._stream.hear(now)
        if frame is not None:
            self._post.hear(frame)
        self._measure()
        self._path.look(self._stream.last_heard, self._since, self._round_trip, now)
        self._watch(now)

    def tick(self) -> None:
        """Do what a call does every 20 ms, for a leg that has none."""
        now = self._loop.time()
        self.send([] if self._held else self.playout.pull(now))
        self.poll(now)
        self.playout.poll(now)

    def clear(self) -> None:
        """Nothing: what has left is on its way to the ear, and the playout counts it as heard."""

    def send_keys(self, keys: str) -> None:
        """Press keys, beside the sound where the far side can, else in signalling."""
        if not self._stream.press(keys):
            self._control.press_by_info(self, keys)

    def transfer(self, target: str, summary: str) -> None:
        """Hand the caller to `target`; the outcome comes as `TransferEnded`."""
        self._control.transfer_leg(self, target, summary)

    def behind(self) -> float:
        """Return nothing: how long sound was on its way is not measured here."""
        return 0.0

    def hang_up(self, reason: str) -> None:
        """Send BYE; `CallerGone` follows."""
        self._control.end_leg(self, reason)

    # --- what the line brings ----------------------------------------------------------------

    def agree(self, agreement: Agreement) -> None:
        """Go on under a new agreement: hold, resume, another address."""
        self._since = self._loop.time()
        self._stream.use(agreement, self._since)
        held, self._held = self._held, not self._stream.sends
        if held == self._held or not self._post.attached:
            return
        if self._held:
            # They had been on hold for as long as the message took to come here.
            way = (self._round_trip or 0.0) / 2
            self._post.notice(CallHeld("hold", self._since - way))
        else:
            self._post.notice(CallReleased())

    def move(self, stream: RtpStream, sockets: MediaSockets) -> None:
        """Go on over another call: a transfer put someone else in the place of the far end."""
        self._sockets.close()
        self._stream, self._sockets = stream, sockets
        self._since = self._loop.time()
        sockets.start(self._received)
        self.agree(stream.agreement)

    def entertain(self, pcm: bytes) -> None:
        """Play a loop of 8000 Hz samples where there is nothing else; empty: no more."""
        form = self.playout.form
        self._music = Loop(form, pcm, self.playout.frame) if pcm and form.rate == 8000 else None

    def notice(self, event: LineEvent) -> None:
        """Pass an event on, now or as soon as somebody listens."""
        self._post.notice(event)

    def over(self, reason: str, failure: bool) -> None:
        """Close: the call has ended."""
        if self._gone:
            return
        now = self._loop.time()
        for datagram in self._stream.goodbye(now):
            self._sockets.send(datagram)
        self._gone = True
        self._sockets.close()
        self.notice(CallerGone(reason, failure, self.quality.document()))

    @property
    def quality(self) -> Quality:
        """How well the sound came and went, so far."""
        return self._stream.session.quality(self._loop.time())

    @property
    def stream(self) -> RtpStream:
        """The media."""
        return self._stream

    # --- inside

    def _received(self, data: bytes, source: tuple[str, int]) -> None:
        key = self._stream.receive(data, source, self._loop.time())
        if key is not None:
            self.notice(CallerKey(key))

    def _measure(self) -> None:
        """Give the ledger the way to the ear, as far as RTCP has measured it."""
        measured = self._stream.session.round_trip
        if measured is not None and measured != self._round_trip:
            self._round_trip = measured
            # Half the round trip may be off by half of it, when the two ways differ.
            self.playout.set_latency(measured / 2 + FAR_BUFFER, measured / 2 + FAR_ERROR)

    def _watch(self, now: float) -> None:
        """Notice a far end that is gone without a word."""
        if not self._timeout or not self._stream.hears or not self._post.attached:
            return
        last = max(self._since, self._stream.last_heard or 0.0)
        if now - last > self._timeout:
            self._since = now
            self._control.leg_is_dead(self, now - last)
