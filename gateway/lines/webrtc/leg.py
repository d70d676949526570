"""One visitor of a web page, once connected: the `Leg` of the gateway's ports."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

import structlog

from gateway.events import (
    CallerAnswered,
    CallerGone,
    CallerKey,
    CallerTyped,
    CallHeld,
    CallInfo,
    CallReleased,
    EndAsked,
    PageTold,
    TransferEnded,
)
from gateway.lines.webrtc import channel
from gateway.lines.webrtc.functions import PageFunctions
from gateway.lines.webrtc.screen import Screen
from gateway.lines.webrtc.stream import PageStream
from gateway.lines.webrtc.watch import Limits, News, Watch
from gateway.ports import Ear, LineEvent
from media.frame import AudioFrame
from media.playout import Chunk, Playout

EVENTS_KEPT = 50
"""Keys and words from before the call is ready; nobody presses more."""

FAR_DELAY = 0.08
"""Seconds from here to the ear until the page has measured it: a browser's jitter buffer and its
sound card hold 50 to 120 ms."""

FAR_ERROR = 0.06

CHANNEL_WITHIN = 5.0
"""Seconds in which the page's data channel has opened, also where its first packets are lost."""

REPORTS_AFTER = 2.0
"""Seconds in which a page that reports what was played has done so; the widget does at once."""


UNKNOWN_WAY = 0.25
"""Seconds by which a report may be older than it says, while no round trip was measured."""


class Carrier(Protocol):
    """What carries packets and messages to the page."""

    @property
    def round_trip(self) -> float | None:
        """Seconds, the shortest that was seen."""

    def send_rtp(self, packet: bytes) -> None:
        """Send a packet of sound."""

    def send_rtcp(self, packet: bytes) -> None:
        """Send a report."""

    def send_text(self, text: str) -> bool:
        """Send a message; False where nobody takes any."""


@dataclass(slots=True)
class _Page:
    """What the page said of itself."""

    unreported: float | None
    "since when a report is waited for; None: reports come, or none is expected"
    proven: float = 0.0
    "when what it last reported was heard"
    muted: bool = False
    odd: bool = False
    "it sent something that is no message"


class WebrtcLeg:
    """Turns chunks into packets and packets into what the call hears; knows no conversation."""

    clocked = True
    cancels_echo = True

    def __init__(
        self,
        info: CallInfo,
        stream: PageStream,
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
        self.stream = stream
        self.witness = Screen(carrier.send_text)
        self.page = PageFunctions(carrier.send_text)
        self._carrier = carrier
        self._over = over
        self._ear: Ear | None = None
        self._early: deque[LineEvent] = deque(maxlen=EVENTS_KEPT)
        self._loop = asyncio.get_running_loop()
        self._watch = Watch(limits, self._loop.time())
        self._gone = self._sounding = False
        self._page = _Page(self._loop.time() + CHANNEL_WITHIN if page else None)
        self._log = structlog.get_logger("webrtc").bind(call_id=info.call_id)

    # --- what the call asks for ------------------------------------------------------------

    def attach(self, ear: Ear) -> None:
        """Give sound and events to `ear` from now on; what came before is handed over first."""
        self._ear = ear
        while self._early:
            ear.notice(self._early.popleft())
        if self._watch.away:
            ear.notice(CallHeld("away", self._loop.time()))

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Send 20 ms, sound or silence, and a report when it is time for one."""
        if self._gone:
            return
        now = self._loop.time()
        waiting = not self._watch.away and self.playout.waiting > 0
        self._sounding = bool(chunks) or (self._sounding and waiting)
        for packet in self.stream.tick(now, chunks, waiting):
            self._carrier.send_rtp(packet)
        for packet in self.stream.report(now):
            self._carrier.send_rtcp(packet)

    def poll(self, now: float) -> None:
        """Hear 20 ms, and notice a page that is away, back or gone."""
        if self._gone:
            return
        frame = self.stream.hear(now)
        if frame is not None and self._ear is not None:
            self._ear.hear(_silent(frame) if self._page.muted else frame)
        self.witness.flush()
        if self._page.unreported is not None and now - self._page.unreported > REPORTS_AFTER:
            self._do_without_reports()
        reports = self._page.unreported is None and self.playout.basis == "acknowledged"
        for news in self._watch.tick(now, sounding=self._sounding and reports):
            self._take_news(news, now)

    def clear(self) -> None:
        """Nothing: what has left is on its way to the ear, and the playout counts it as heard."""

    def send_keys(self, keys: str) -> None:
        """Nothing: there is nobody at a web page who understands tones."""

    def transfer(self, target: str, summary: str) -> None:
        """Refuse: a visitor of a page cannot be put through to a telephone."""
        refusal = TransferEnded(False, "a call from a web page cannot be transferred")
        self.notice(refusal)

    def behind(self) -> float:
        """Return by how many seconds what is heard lies behind when it was spoken."""
        return self.stream.depth(self._loop.time()) + (self._way() or 0.0)

    def hang_up(self, reason: str) -> None:
        """Tell the page and end the call; `CallerGone` follows."""
        if not self._gone:
            self.witness.end(reason)
            self._over(reason, False)

    # --- what the line brings ------------------------------------------------------------------

    def greet(self) -> None:
        """Tell the page, whose data channel has opened, whom it is talking to."""
        if self._page.unreported is not None:
            self._page.unreported = self._loop.time()
        self.witness.greet(self.info.call_id, self.info.agent, self._watch.limits.seconds)

    def take_text(self, text: str) -> None:
        """Take a message of the page."""
        try:
            told = channel.decode(text)
        except ValueError as error:
            if (
                not self._page.odd
            ):  # the first tells what is wrong with a page; a flood fills the log
                self._log.info("message_odd", reason=str(error))
            self._page.odd = True
            return
        match told:
            case channel.Mute(muted=muted):
                self._page.muted = muted
            case channel.Text(text=typed):
                if typed.strip():
                    self.notice(CallerTyped(typed.strip()))
            case channel.Context():
                if said := told.sentence():
                    self.notice(PageTold(said))
            case channel.Used():
                self.page.used(told)
            case channel.Answer(proposal=proposal, yes=yes):
                self.notice(CallerAnswered(proposal, yes))
            case channel.Keys(keys=keys):
                for key in keys:
                    self.notice(CallerKey(key))
            case channel.Played():
                self._played(told)
            case _:
                assert_never(told)

    def alive(self) -> None:
        """Take that something authenticated arrived."""
        self._watch.alive()

    def notice(self, event: LineEvent) -> None:
        """Pass an event on, now or as soon as somebody listens."""
        if self._gone:
            return
        if isinstance(event, CallerGone):
            self._carrier.send_rtcp(self.stream.goodbye(self._loop.time()))
            self._gone = True
            self.page.gone()
        if self._ear is None:
            self._early.append(event)
        else:
            self._ear.notice(event)

    # --- inside --------------------------------------------------------------------------------

    def _do_without_reports(self) -> None:
        """Believe the model alone: a page that never says what it plays must not be waited for."""
        self._page.unreported = None
        way = self._way() or 0.0
        self.playout.basis = "estimated"
        self.playout.measure(FAR_DELAY + way, FAR_ERROR + way)

    def _way(self) -> float | None:
        """Return the seconds from here to the page, as far as they were measured.

        The connectivity checks tell them from the start, and RTCP after some seconds.
        """
        trips = (self.stream.round_trip, self._carrier.round_trip)
        known = [one for one in trips if one is not None]
        return min(known) / 2 if known else None

    def _played(self, told: channel.Played) -> None:
        """Tell the ledger where the visitor's ear is."""
        self._page.unreported = None
        self.playout.basis = "acknowledged"
        back = self._way()
        when = self._loop.time() - told.age_ms / 1000 - (back or 0.0)
        rendered = self.stream.rendered(told.rtp, when)
        if rendered is None:
            return
        self._watch.heard()
        self._page.proven = when
        error = told.error_ms / 1000 + (UNKNOWN_WAY if back is None else back)
        if rendered.utterance:
            samples = round(error * self.playout.form.rate)
            self.playout.report(rendered.utterance, rendered.position, when, samples)
        if not rendered.speaking and not self.playout.waiting:
            self.playout.measure(rendered.delay, error)

    def _take_news(self, news: News, now: float) -> None:
        match news:
            case "away":
                self._log.info("page_away")
                self.witness.away(True)
                self.stream.forget()
                since = now - self._watch.quiet - (self._way() or 0.0)
                if self._watch.unheard:
                    since = min(since, self._page.proven)
                self._sounding = False
                if self._ear is not None:
                    self._ear.notice(CallHeld("away", since))
            case "back":
                self._log.info("page_back")
                if self._page.unreported is not None:
                    self._page.unreported = now
                self.witness.away(False)
                if self._ear is not None:
                    self._ear.notice(CallReleased())
            case "gone":
                self._over("connection lost", True)
            case "time is up":
                self.notice(EndAsked(self._watch.limits.goodbye, "time limit"))
            case _:
                assert_never(news)


def _silent(frame: AudioFrame) -> AudioFrame:
    return AudioFrame(bytes(len(frame.pcm)), frame.rate, frame.start)
