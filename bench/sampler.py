"""Whose work takes the CPU in calls from web pages: a look every few milliseconds, at random.

Not by the CPU time of the process: its timer goes by the kernel's own ticks, which keep step with
a loop that rests on a schedule, and would see the same part of each frame again and again.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from types import FrameType

BETWEEN = (0.001, 0.005)
"""Seconds between two looks at what is running."""

REST = ("call/pacer", "_rest")
"""Where the loop sleeps."""

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
    ("lines/rtp", ""): "RTP packets",
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
    """Looks at what runs, and counts whose work it is; rest is nobody's."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def start(self) -> None:
        signal.signal(signal.SIGALRM, self._look)
        self._wait()

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _wait(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(*BETWEEN))

    def _look(self, _number: int, frame: FrameType | None) -> None:
        self._wait()
        whole = frame
        while frame is not None:
            path = frame.f_code.co_filename
            if REST[0] in path and frame.f_code.co_name == REST[1]:
                return
            for place, name in PLACES:
                if place in path and (not name or frame.f_code.co_name in name.split(",")):
                    self.counts[LABELS[place, name]] += 1
                    return
            frame = frame.f_back
        self.counts["loop and sockets" if whole is not None else "outside Python"] += 1
