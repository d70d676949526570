"""Voice activity by WebRTC's detector: a few microseconds a window, and easily fooled.

For machines too small for a model, and as a baseline: it takes keyboards and music for speech, and
calls a stop 0.12 to 0.14 s late in the median where Silero's is 0.07 s.
Used like `turn.vad.VoiceActivity`; its probabilities are 0 and 1.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import webrtcvad

from media.frame import Samples
from media.resample import Resampler
from turn.events import VoiceScored
from turn.silero import FULL_SCALE
from turn.soon import Soon
from turn.vad import Hear, levels

RATES: Final = (8000, 16000, 32000, 48000)
"""WebRTC's detector takes no others."""

WINDOW_SECONDS: Final = 0.02
"""WebRTC's detector: 10, 20 or 30 ms; telephone frames have 20."""

Mode = Literal[0, 1, 2, 3]


class WebrtcStream:
    """One caller's sound, judged as it is fed and handed out soon after."""

    def __init__(self, mode: Mode, rate: int, hear: Hear | None, start: int, soon: Soon) -> None:
        """Begin; `WebrtcVoice` makes these."""
        native = rate if rate in RATES else 16000
        self.hear = hear
        self.closed = False
        self._soon = soon
        self._detector = webrtcvad.Vad(mode)
        self._rate = native
        self._resampler = None if rate == native else Resampler(rate, native)
        self._ratio = rate / native
        self._start = start
        self._window = int(native * WINDOW_SECONDS)
        self._rest = np.zeros(0, np.int16)
        self._position = 0
        self._scored: list[VoiceScored] = []

    def feed(self, samples: Samples) -> None:
        """Take the next samples."""
        if self._resampler is not None:
            samples = np.frombuffer(self._resampler.feed(samples.tobytes()), "<i2")
        sound = np.concatenate([self._rest, samples])
        count = len(sound) // self._window
        windows = sound[: count * self._window].reshape(count, self._window)
        self._rest = sound[count * self._window :]
        for window, level in zip(
            windows, levels(windows.astype(np.float32) / np.float32(FULL_SCALE)), strict=True
        ):
            speech = self._detector.is_speech(window.tobytes(), self._rate)
            begin, self._position = self._position, self._position + self._window
            self._scored.append(
                VoiceScored(
                    self._start + int(begin * self._ratio),
                    self._start + int(self._position * self._ratio),
                    1.0 if speech else 0.0,
                    level,
                )
            )
        if count:
            self._soon.ask()

    def take(self) -> list[VoiceScored]:
        """Return the windows judged since the last time."""
        taken, self._scored = self._scored, []
        return taken

    def close(self) -> None:
        """Let go of the stream; nothing is handed out any more."""
        self.closed = True

    def deliver(self) -> None:
        """Hand out what was judged."""
        if self.hear is not None:
            for window in self.take():
                if not self.closed:  # it may be by what this or another one heard
                    self.hear(window)


class WebrtcVoice:
    """WebRTC's detector for all calls of a process."""

    def __init__(self, mode: Mode = 2) -> None:
        """Take how reluctant it is to hear speech, 0 to 3; 2 is usual on the telephone."""
        self._mode = mode
        self._streams: list[WebrtcStream] = []
        self._soon = Soon(self.score_pending)

    def open(self, rate: int, hear: Hear | None = None, start: int = 0) -> WebrtcStream:
        """Begin a stream of `rate` samples a second whose first sample has position `start`."""
        stream = WebrtcStream(self._mode, rate, hear, start, self._soon)
        self._streams.append(stream)
        return stream

    def attend(self) -> None:
        """From now on, hand out what was judged, on the running loop."""
        self._soon.begin()

    def score_pending(self) -> None:
        """Hand out what was judged."""
        self._streams = [each for each in self._streams if not each.closed]
        for each in self._streams:
            each.deliver()
