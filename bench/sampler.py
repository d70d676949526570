"""Whose work takes the CPU in calls from web pages: a look every 2 ms of CPU time."""

from __future__ import annotations

import signal
from collections import Counter
from types import FrameType

SAMPLE_SECONDS = 0.002
"""CPU time between two looks at what is running."""

LABELS = {
    ("media/opus.py", "encode"): "Opus, encoding",
    ("media/opus.py", ""): "Opus, decoding",
    ("pylibsrtp", ""): "SRTP",
    ("media/jitter", ""): "jitter buffer",
    ("media/arrivals", ""): "jitter buffer",
    ("media/reception", ""): "reception",
    ("media/conceal", ""): "reception",
    ("media/playout", ""): "ledger",
    ("media/farside", ""): "ledger",
    ("rtcsctptransport", ""): "data channel (aiortc)",
    ("rtcdatachannel", ""): "data channel (aiortc)",
    ("rtcdtlstransport", ""): "DTLS (aiortc)",
    ("webrtc/rendered", ""): "ledger",
    ("webrtc/channel", ""): "messages of the page",
    ("sip/rtp", ""): "RTP packets",
    ("webrtc/stream", ""): "RTP packets",
    ("webrtc/ice", "send_now"): "sending",
    ("webrtc/ice", ""): "receiving",
    ("webrtc/peer", ""): "receiving",
    ("aioice", ""): "ICE checks (aioice)",
    ("webrtc/leg", ""): "leg",
    ("gateway/call/pacer", ""): "pacer",
}
PLACES = tuple(LABELS)


class Sampler:
    """Looks every 2 ms of CPU time at what runs, and counts whose work it is."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def start(self) -> None:
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, _number: int, frame: FrameType | None) -> None:
        whole = frame
        while frame is not None:
            path = frame.f_code.co_filename
            for place, name in PLACES:
                if place in path and (not name or frame.f_code.co_name in name.split(",")):
                    self.counts[LABELS[place, name]] += 1
                    return
            frame = frame.f_back
        self.counts["loop and sockets" if whole is not None else "outside Python"] += 1
