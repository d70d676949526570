"""One visitor of a web page, once connected: the `Leg` of the gateway's ports."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

import structlog

from gateway.events import CallerGone, CallerKey, CallerTyped, CallInfo, EndAsked, TransferEnded
from gateway.lines.webrtc import channel
from gateway.lines.webrtc.showing import Showing
from gateway.lines.webrtc.stream import RtpStream
from gateway.ports import Ear, LineEvent
from media.frame import AudioFrame
from media.playout import Chunk, Playout

EVENTS_KEPT = 50
"""Keys and words from before the call is ready; nobody presses more."""

FAR_DELAY = 0.08
"""Seconds from here to the ear until the page has measured it: a browser's jitter buffer and its
sound card hold 50 to 120 ms."""

BREAK_SECONDS = 1.0
"""Without any packet (a browser sends fifty a second) the connection is broken, and the agent
waits instead of talking to nobody."""

STEP_MOST = 0.1
"""Seconds that one tick counts for at most: when this process stood still, nobody was away."""

MESSAGES_KEPT = 200
"""For a page whose data channel is not open yet."""


class Carrier(Protocol):
    """What carries packets and messages to the page."""

    def send_rtp(self, packet: bytes) -> None:
        """Send a packet of sound."""

    def send_rtcp(self, packet: bytes) -> None:
        """Send a report."""

    def send_text(self, text: str) -> bool:
        """Send a message; False where nobody takes any."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a call is over in any case."""

    seconds: float
    "longest length"
    goodbye: str
    "said then"
    away_seconds: float
    "without a packet"


class WebrtcLeg:
    """Turns chunks into packets and packets into what the call hears; knows no conversation."""

    def __init__(
        self,
        info: CallInfo,
        stream: RtpStream,
        carrier: Carrier,
        limits: Limits,
        over: Callable[[str, bool], None],
        page: bool,
    ) -> None:
        """`over` is told why the call is to be taken down, and whether that is a failure; `page`
        says that somebody will report what was played."""
        self.info = info
        self.playout = Playout(
            stream.form,
            lead=0,
            latency=FAR_DELAY,
            basis="acknowledged" if page else "sent",
            clears=False,
        )
        self._stream = stream
        self._carrier = carrier
        self._limits = limits
        self._over = over
        self._ear: Ear | None = None
        self._early: deque[LineEvent] = deque(maxlen=EVENTS_KEPT)
        self._showing = Showing()
        self._unsent: deque[str] = deque(maxlen=MESSAGES_KEPT)
        self._loop = asyncio.get_running_loop()
        self._began = self._ticked = self._loop.time()
        self._quiet = 0.0
        "seconds since the last packet, as far as this process was awake"
        self._away = False
        self._muted = False
        self._limit_told = False
        self._gone = False
        self._log = structlog.get_logger("webrtc").bind(call_id=info.call_id)

    # --- what the call asks for ------------------------------------------------------------

    def attach(self, ear: Ear) -> None:
        """Give sound and events to `ear` from now on; what came before is handed over first."""
        self._ear = ear
        while self._early:
            ear.notice(self._early.popleft())

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Send 20 ms, sound or silence, and hear 20 ms."""
        if self._gone:
            return
        now = self._loop.time()
        waiting = not self._away and self.playout.waiting > 0
        for packet in self._stream.tick(now, chunks, waiting):
            self._carrier.send_rtp(packet)
        for packet in self._stream.report(now):
            self._carrier.send_rtcp(packet)
        frame = self._stream.hear(now)
        if frame is not None and self._ear is not None:
            self._ear.hear(_silent(frame) if self._muted else frame)
        while self._unsent and self._carrier.send_text(self._unsent[0]):
            self._unsent.popleft()
        self._watch(now)

    def clear(self) -> None:
        """Nothing: what has left is on its way to the ear, and the playout counts it as heard."""

    def send_keys(self, keys: str) -> None:
        """Nothing: there is nobody at a web page who understands tones."""

    def transfer(self, target: str, summary: str) -> None:
        """Refuse: a visitor of a page cannot be put through to a telephone."""
        refusal = TransferEnded(False, "a call from a web page cannot be transferred")
        # Not from inside the call's own effect: the outcome comes as an event of its own.
        self._loop.call_soon(self.notice, refusal)

    def hang_up(self, reason: str) -> None:
        """Tell the page and end the call; `CallerGone` follows."""
        if not self._gone:
            self._tell([channel.End(by="agent", reason=reason)])
            self._over(reason, False)

    @property
    def witness(self) -> WebrtcLeg:
        """The page sees how the call goes."""
        return self

    def observe(self, event: str, fields: Mapping[str, Any]) -> None:
        """Show the page what happened."""
        self._tell(self._showing.observe(event, fields))

    def caption(self, utterance: int, text: str) -> None:
        """Show the page what was heard of an utterance by now."""
        self._tell(self._showing.caption(utterance, text))

    # --- what the line brings ------------------------------------------------------------------

    def greet(self) -> None:
        """Tell the page, whose data channel has opened, whom it is talking to."""
        hello = channel.Hello(
            call=self.info.call_id, agent=self.info.agent, seconds=self._limits.seconds
        )
        self._tell([hello, *self._showing.again()])

    def take_rtp(self, packet: bytes) -> None:
        """Take a packet of sound."""
        key = self._stream.receive(packet, self._loop.time())
        if key is not None:
            self.notice(CallerKey(key))

    def take_rtcp(self, packet: bytes) -> None:
        """Take a report."""
        self._stream.receive_report(packet, self._loop.time())

    def take_text(self, text: str) -> None:
        """Take a message of the page."""
        try:
            told = channel.decode(text)
        except ValueError as error:
            self._log.info("message_odd", reason=str(error))
            return
        match told:
            case channel.Mute(muted=muted):
                self._muted = muted
            case channel.Text(text=typed):
                if typed.strip():
                    self.notice(CallerTyped(typed.strip()))
            case channel.Keys(keys=keys):
                for key in keys:
                    self.notice(CallerKey(key))
            case channel.Played():
                self._played(told)
            case _:
                assert_never(told)

    def alive(self) -> None:
        """Take that something authenticated arrived."""
        self._quiet = 0.0

    def gone(self, reason: str, failure: bool = False) -> None:
        """Take that the connection is down."""
        if not self._gone:
            for packet in self._stream.report(self._loop.time(), goodbye=True):
                self._carrier.send_rtcp(packet)
            self._gone = True
            self._pass_on(CallerGone(reason, failure))

    def notice(self, event: LineEvent) -> None:
        """Pass an event on, now or as soon as somebody listens."""
        if not self._gone:
            self._pass_on(event)

    @property
    def stream(self) -> RtpStream:
        """The media."""
        return self._stream

    # --- inside --------------------------------------------------------------------------------

    def _pass_on(self, event: LineEvent) -> None:
        if self._ear is None:
            self._early.append(event)
        else:
            self._ear.notice(event)

    def _tell(self, messages: Sequence[channel.Message]) -> None:
        for message in messages:
            text = channel.encode(message)
            if self._unsent or not self._carrier.send_text(text):
                self._unsent.append(text)

    def _played(self, told: channel.Played) -> None:
        """Tell the ledger where the visitor's ear is."""
        now = self._loop.time()
        back = (self._stream.round_trip or 0.0) / 2
        when = now - told.age_ms / 1000 - back
        rendered = self._stream.rendered(told.rtp, when)
        if rendered is None:
            return
        error = told.error_ms / 1000 + back
        if rendered.utterance:
            samples = round(error * self.playout.form.rate)
            self.playout.report(rendered.utterance, rendered.position, when, samples)
        if not rendered.speaking and not self.playout.waiting:
            self.playout.measure(rendered.delay, error)

    def _watch(self, now: float) -> None:
        """Notice a page that is gone without a word, and a call that has lasted long enough."""
        self._quiet += min(now - self._ticked, STEP_MOST)
        self._ticked = now
        if self._away != (self._quiet > BREAK_SECONDS):
            self._away = not self._away
            self._log.info("page_away" if self._away else "page_back")
            self._tell(self._showing.away(self._away))
            if not self._away:
                self.playout.resume(now)
        if self._away:
            self.playout.hold()
            if self._quiet > self._limits.away_seconds:
                self._quiet = 0.0
                self._over("connection lost", True)
        if now - self._began > self._limits.seconds and not self._limit_told:
            self._limit_told = True
            self.notice(EndAsked(self._limits.goodbye, "time limit"))


def _silent(frame: AudioFrame) -> AudioFrame:
    return AudioFrame(bytes(len(frame.pcm)), frame.rate, frame.start)
