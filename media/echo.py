"""How much of what comes in is our own sound coming back.

An echo of a telephone line is the sent sound, later and softer, through a short filter.
Its delay is found by correlation, the filter by least squares over past windows; a window's echo
score is the share of its energy that the filter, without having seen that window, predicts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from media.codec import WireForm
from media.frame import Samples
from media.stretch import Signal, Stretch

RATE = 8000
"""Samples per second worked at: an echo that matters is within the telephone band."""

LONGEST_DELAY = 3200
"""Samples, 400 ms: 250 ms of path, and as much again as the far side's buffer may be misjudged."""

TAPS = 96
"""12 ms: a hybrid's echo lasts a few (ITU-T G.168), a small speaker's near field a bit longer."""

EARLY = 16
"""Taps before the strongest one: 2 ms for what comes ahead of it."""

HISTORY = 1024
"""Samples, 128 ms, in which an unknown echo is looked for: several syllables' pitch periods, so
that two voices are not alike by chance."""

WINDOW = 256
"""Samples, 32 ms: the usual window of voice activity models."""

FAINT_DB = -58.0
"""Level in dBFS of FAINT."""

FAINT = 32768.0**2 * 10 ** (FAINT_DB / 10)
"""Power below which there is nothing worth an explanation: no voice detector opens there."""

LIKENESS = 0.35
"""Correlation below which no filter is tried; that of an echo through a small room is higher."""

FOLLOWS = 0.5
"""A window of which the filter explains more than this is echo mostly, and teaches it more."""

SEEMS = 0.6
"""Share of the history that a new filter must explain to be believed once it is confirmed."""

CONTINUES = 160
"""Samples, 20 ms: what is sent within a frame of its predecessor's end sounds right behind it;
the clock that says when it left is no better than that, and the far side plays without gaps."""

FRESH = 48
"""Windows in which a line's echo is looked for closely, at every second one: 1.5 s of sound over
our own. A line that has an echo shows it within a tenth of that."""

OFTEN, SELDOM = 2, HISTORY // WINDOW
"""Windows from one search to the next, then and afterwards, when no sound is looked at twice: a
search costs as much as all the rest that is done for a call in a tick."""

CONFIRMED = 8
"""Samples by which two searches may differ and still mean the same echo: 1 ms."""

FORGET = 0.95
"""Per window: the filter follows the path over about half a second of echo."""

SETTLED = 0.97
"""A filter that explains this much is as good as G.711 allows, and is refreshed less often."""

REGULARISATION = 3e-3
"""Relative to the power of the sound: G.711's own noise, 25 dB below it at worst."""

KEPT = 16384
"""Samples, two seconds: how much of what was sent waits to be read, more than is ever asked for."""

_FFT = 2304
"""At half the rate: half of history and longest delay, rounded up to a length that is quick."""


_LAGS = np.abs(np.arange(TAPS)[:, None] - np.arange(TAPS)[None, :])


class _Filter:
    """The echo's path: a delay, and the taps from there on, learnt from windows of echo."""

    def __init__(self, delay: int) -> None:
        self.delay = delay
        self._auto: Signal = np.zeros(TAPS, dtype=np.float32)
        self._cross: Signal = np.zeros(TAPS, dtype=np.float32)
        self._taps: Signal = np.zeros(TAPS, dtype=np.float32)
        self._unsolved = 0

    def learn(self, sent: Signal, came: Signal) -> None:
        """Take a window: `sent` is what the taps lie over, TAPS - 1 samples more than `came`."""
        newest = sent[TAPS - 1 :]
        self._auto = FORGET * self._auto + np.correlate(sent, newest, "valid")[::-1]
        self._cross = FORGET * self._cross + np.correlate(sent, came, "valid")[::-1]
        self._unsolved += 1

    def solve(self, windows: int = 1) -> None:
        """Find the taps anew if that many windows were learnt since."""
        if self._unsolved < windows:
            return
        self._unsolved = 0
        matrix = self._auto[_LAGS]
        matrix[np.diag_indices(TAPS)] += REGULARISATION * self._auto[0] + 1.0
        self._taps = np.linalg.solve(matrix, self._cross).astype(np.float32)

    def explains(self, sent: Signal, came: Signal) -> float:
        """Return the share of a window's energy that is predicted; below 0 it predicts wrongly."""
        rest = came - np.convolve(sent, self._taps, "valid")
        return 1 - float(np.dot(rest, rest)) / max(float(np.dot(came, came)), 1.0)


class EchoReference:
    """Judges a caller's sound against what was sent to that caller; one for each call.

    It only measures: what counts as an interruption is decided elsewhere.
    What is sent is kept as it is, and looked at when the caller's sound needs an explanation: most
    of what an agent says nobody speaks into.
    """

    def __init__(self, form: WireForm, came: Callable[[int, int], Samples]) -> None:
        """Begin with nothing sent.

        `form` is how the line is sent to, at a multiple of 8000 Hz or near one; `came` gives the
        caller's sound from one position to another, as much of it as there is.
        """
        self._form = form
        self._came_between = came
        self._factor = max(1, form.rate // RATE)
        self._sent = Stretch(LONGEST_DELAY + TAPS + HISTORY)
        self._unread: deque[tuple[int, bytes]] = deque()
        """position and wire form of what was sent and not needed so far"""
        self._next = -LONGEST_DELAY
        """where what was sent so far ends"""
        self._loud_until = -LONGEST_DELAY
        self._filter: _Filter | None = None
        self._suspect: int | None = None
        self._misses = 0
        """windows in a row that the filter, if there is one, did not explain"""

    @property
    def delay(self) -> float | None:
        """Seconds by which the echo follows its sound; None while none is known."""
        if self._filter is None:
            return None
        return (self._filter.delay + EARLY) / RATE

    def sent(self, start: int, payload: bytes) -> None:
        """Note what the caller is sent, in order; it may be ahead of time.

        `start` is the position in the caller's own stream when it left, or sounds; it begins to
        sound there, or as soon as what was sent before is over.
        An unknown delay of up to 400 ms beyond is found.
        """
        start //= self._factor
        if start < self._next + CONTINUES:
            start = self._next
        self._next = start + self._length(payload)
        self._unread.append((start, payload))
        while self._unread[0][0] < self._next - KEPT:
            self._unread.popleft()

    def cut(self, start: int) -> None:
        """Take back what was sent from `start` on: the far side was cleared and never played it."""
        self._read()
        start //= self._factor
        self._sent.cut(start)
        self._next = min(self._next, start)
        self._loud_until = min(self._loud_until, start)

    def score(self, start: int, end: int) -> float:
        """Return how much of the caller's next window [start, end) is our own sound, 0 to 1."""
        if start // self._factor > self._next + LONGEST_DELAY + TAPS:
            return 0.0
        self._read()
        if start // self._factor > self._loud_until + LONGEST_DELAY + TAPS:
            return 0.0
        signal = self._signal(self._came_between(start, end))
        if not len(signal) or float(np.dot(signal, signal)) < FAINT * len(signal):
            return 0.0
        known = self._follow(signal, start // self._factor + len(signal))
        if known > FOLLOWS:
            return min(known, 1.0)
        self._misses += 1
        closely = self._misses <= FRESH or self._suspect is not None
        if self._misses % (OFTEN if closely else SELDOM) != 1:
            return max(known, 0.0)
        return max(known, self._search(end), 0.0)

    def _length(self, payload: bytes) -> int:
        return len(payload) // self._form.bytes_per_sample // self._factor

    def _read(self) -> None:
        """Decode what was sent since the last time, each unbroken stretch in one piece."""
        while self._unread:
            start, payload = self._unread.popleft()
            stretch, end = [payload], start + self._length(payload)
            while self._unread and self._unread[0][0] == end:
                stretch.append(self._unread.popleft()[1])
                end += self._length(stretch[-1])
            pcm = self._form.decode(b"".join(stretch))
            signal = self._signal(np.frombuffer(pcm, dtype="<i2"))
            self._sent.put(start, signal)
            if len(signal) and float(np.dot(signal, signal)) > FAINT * len(signal):
                self._loud_until = max(self._loud_until, start + len(signal))

    def _follow(self, came: Signal, end: int) -> float:
        """Judge a window by the path that is known, and let it teach the filter if it is echo."""
        path = self._filter
        if path is None:
            return 0.0
        sent = self._sent.get(end - len(came) - path.delay - TAPS + 1, end - path.delay)
        share = path.explains(sent, came)
        if share > FOLLOWS:
            self._misses = 0
            path.learn(sent, came)
            path.solve(8 if share > SETTLED else 3)
        return share

    def _search(self, until: int) -> float:
        """Look for an echo in the latest sound; two finds of the same one make it known."""
        came = self._history(until)
        end = until // self._factor
        delay = self._likely_delay(came, end)
        if delay is None:
            self._suspect = None
            return 0.0
        path = _Filter(delay)
        sent = self._sent.get(end - HISTORY - delay - TAPS + 1, end - delay)
        path.learn(sent, came)
        path.solve()
        share = path.explains(sent, came)
        newest = path.explains(sent[-WINDOW - TAPS + 1 :], came[-WINDOW:])
        if share > SEEMS and newest > FOLLOWS:
            if self._suspect is not None and abs(self._suspect - delay) <= CONFIRMED:
                self._filter = path
            self._suspect = delay
        else:
            self._suspect = None
        # A filter fits what it was made from, and voices are alike: half explained is by chance.
        return max(0.0, 2 * min(share, newest) - 1)

    def _likely_delay(self, came: Signal, end: int) -> int | None:
        """Return the delay at which the sent sound is most like `came`, if it is like it at all."""
        sent = self._sent.get(end - HISTORY - LONGEST_DELAY, end)
        # Half the rate is enough to find it.
        both = np.zeros((2, _FFT), dtype=np.float32)
        near, far = both[0, : HISTORY // 2], both[1, : (HISTORY + LONGEST_DELAY) // 2]
        np.add(came[0::2], came[1::2], out=near)
        np.add(sent[0::2], sent[1::2], out=far)
        spectra = np.fft.rfft(both)
        places = LONGEST_DELAY // 2 + 1
        product = np.fft.irfft(np.conj(spectra[0]) * spectra[1], _FFT)[:places]
        sums = np.zeros(len(far) + 1)
        np.cumsum(far * far, dtype=np.float64, out=sums[1:])
        energy = sums[len(near) :][:places] - sums[:places]
        # The squares of what is compared: one root is enough.
        likeness = np.square(product) / np.maximum(energy, FAINT * len(near))
        best = int(likeness.argmax())
        if likeness[best] < LIKENESS**2 * max(float(np.dot(near, near)), 1.0):
            return None
        return max(0, LONGEST_DELAY - 2 * best - EARLY)

    def _history(self, until: int) -> Signal:
        """Return the caller's last HISTORY samples; before the first one there was silence."""
        came = self._signal(self._came_between(until - HISTORY * self._factor, until))
        if len(came) == HISTORY:
            return came
        return np.concatenate((np.zeros(HISTORY - len(came), dtype=np.float32), came))

    def _signal(self, samples: Samples) -> Signal:
        if self._factor == 1:
            return samples.astype(np.float32)
        whole = len(samples) // self._factor * self._factor
        groups = samples[:whole].reshape(-1, self._factor)
        means: Signal = groups.mean(axis=1, dtype=np.float32)
        return means
