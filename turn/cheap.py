"""Judges single windows without a model: what voice activity falls back to."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import webrtcvad

from inference.errors import in_words

RELUCTANCE: Final = 2
"""WebRTC's detector, 0 to 3: 2 is usual on the telephone."""

SECONDS: Final = 0.03
"""WebRTC's detector takes 10, 20 or 30 ms: the end of a window of 32 ms."""

REST_WINDOWS = 31
"""Windows of a stream, a second of them, for which the model is let alone that could not judge it:
asked again and again, a stream that breaks it would cost all others a run each."""


class CheapDetector:
    """WebRTC's detector for one stream of 8 or 16 kHz; remembers how loud its noise is."""

    def __init__(self, rate: int) -> None:
        self._detector = webrtcvad.Vad(RELUCTANCE)
        self._rate = rate
        self._samples = int(rate * SECONDS)

    def judge(self, window: npt.NDArray[np.float32]) -> float:
        """Return 1 for a window (16-bit numbers) that holds speech, else 0."""
        sound = window[-self._samples :].astype("<i2").tobytes()
        return 1.0 if self._detector.is_speech(sound, self._rate) else 0.0


class Fallback:
    """What judges a stream that the model cannot judge, and for how long."""

    def __init__(self, rate: int) -> None:
        self.rest = 0
        "windows for which the model is not asked any more"
        self.reason = ""
        self._rate = rate
        self._detector: CheapDetector | None = None

    def judge(self, failed: Exception | None, sound: npt.NDArray[np.float32]) -> float:
        """Judge a window; `failed` is what the model raised when it was asked about it."""
        if failed is not None:
            self.reason, self.rest = in_words(failed), REST_WINDOWS
        else:
            self.rest -= 1
        if self._detector is None:
            self._detector = CheapDetector(self._rate)
        return self._detector.judge(sound)
