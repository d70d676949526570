"""A page's sound as RTP: what the session makes of it, and where each sample of ours was.

Nothing here opens, waits or encrypts; packets go in and come out as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.lines.rtp.packet import Packet
from gateway.lines.rtp.reports import Quality
from gateway.lines.rtp.session import Numbers, RtpSession, SessionSettings
from gateway.lines.rtp.sounder import Sending
from gateway.lines.webrtc.offer import Agreed
from gateway.lines.webrtc.rendered import Rendered, Timeline
from media.codec import wire_form
from media.frame import AudioFrame
from media.playout import Chunk


class PageStream:
    """Makes our packets and reads theirs."""

    def __init__(
        self,
        agreed: Agreed,
        rate: int,
        numbers: Numbers,
        settings: SessionSettings,
        draw: Callable[[int], int],
    ) -> None:
        """`rate` is that of a call with Opus."""
        codec = agreed.codec
        self.ssrc = numbers.ssrc
        "of our sound"
        self.form = (
            wire_form("l16", rate) if codec.name == "opus" else wire_form(codec.name, codec.rate)
        )
        self._agreed = agreed
        sending = Sending(codec, agreed.payload_type)
        self._session = RtpSession(sending, self.form, numbers, settings, draw)
        self._timeline = Timeline(codec.clock, self.form.rate, numbers.timestamp)

    # --- out -----------------------------------------------------------------------------------

    def tick(self, now: float, chunks: Sequence[Chunk], waiting: bool) -> list[bytes]:
        """Return the packets of these 20 ms; `waiting` says that sound waits for its moment."""
        sounder, timeline = self._session.sounder, self._timeline
        sent, jumped = sounder.sent, sounder.jumped
        packets = self._session.tick(now, [chunk.payload for chunk in chunks], waiting)
        jump = sounder.jumped - jumped
        if jump:
            timeline.skip(jump * sounder.units)
        for chunk in chunks:
            timeline.sent(chunk, now)
        for _ in range(sounder.sent - sent - jump - len(chunks)):
            timeline.sent(None, now)
        return packets

    def report(self, now: float) -> list[bytes]:
        """Return a report when it is time for one."""
        return self._session.report(now)

    def goodbye(self, now: float) -> bytes:
        """Return the last report."""
        return self._session.goodbye(now)

    # --- in ------------------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> str | None:
        """Take a packet; give the key where one was pressed."""
        try:
            packet = Packet.parse(data)
        except ValueError:
            return None
        if packet.type == self._agreed.payload_type:
            self._session.take_sound(packet, self._agreed.codec, now)
        elif self._agreed.keys is not None and packet.type == self._agreed.keys[0]:
            return self._session.take_key(packet, now)
        else:
            self._session.pass_over(packet, now)
        return None

    def receive_report(self, data: bytes, now: float) -> None:
        """Take a compound packet of RTCP."""
        self._session.take_report(data, now)

    def hear(self, now: float) -> AudioFrame | None:
        """Return the visitor's next 20 ms; None before there was anything at all."""
        return self._session.hear(now)

    # --- figures ---------------------------------------------------------------------------------

    @property
    def round_trip(self) -> float | None:
        """Seconds, as RTCP measured it."""
        return self._session.round_trip

    @property
    def session(self) -> RtpSession:
        """Both directions, with their figures."""
        return self._session

    def depth(self, now: float) -> float:
        """Return the delay that the jitter buffer adds now, in seconds."""
        return self._session.receiver.depth(now)

    def rendered(self, timestamp: int, when: float) -> Rendered | None:
        """Return what was heard at `when`, by the RTP time that was being played."""
        return self._timeline.at(timestamp, when)

    def forget(self) -> None:
        """Take that what has left lately reached nobody."""
        self._timeline.forget()

    def quality(self, now: float) -> Quality:
        """Sum up how the sound came and went."""
        return self._session.quality(now)
