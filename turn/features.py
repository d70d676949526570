"""Knows what the end-of-turn model sees: the log-mel picture of a caller's last eight seconds.

The picture is Whisper's (80 bands, 25 ms windows every 10 ms at 16 kHz, eight decades of range),
over eight seconds normalised to zero mean and unit variance, zeros in front of a shorter turn.
Normalising needs the whole eight seconds, yet nothing has to be computed twice:
the spectrum is linear, so dividing the sound by its deviation `s` divides each band's energy by
`s * s`, and taking off the mean `m` touches only the two lowest lines of the spectrum, which a
Hann window's own spectrum fills with `m * n / 2` and `-m * n / 4`.
So each 10 ms frame is transformed once, when a question first needs it, and a question subtracts,
bounds and copies.

Sound at 8 kHz is transformed as it is, with windows of 200 samples: the lines up to 4 kHz are those
of the sound at 16 kHz but for a factor of two, and above there is nothing.
"""

from __future__ import annotations

import threading
from typing import Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from media.frame import Samples
from media.recent import RecentSound
from media.resample import Resampler
from turn.mel import (
    BANDS,
    CORRECTED,
    MODEL_RATE,
    WINDOWS_PER_SECOND,
    Floats,
    hann,
    low_weights,
    mel_weights,
)

Longs = npt.NDArray[np.int64]

SECONDS: Final = 8
FRAMES: Final = 800
"""Whisper: a frame every 10 ms."""

FRAMES_PER_SECOND: Final = 100

WIDTH: Final = MODEL_RATE // WINDOWS_PER_SECOND

LEAST_VARIANCE: Final = 1e-7
"""Whisper's feature extractor: added to the variance, so that silence does not divide by zero."""

LEAST_ENERGY: Final = -10.0
"""Whisper: log10 of the smallest energy of a band."""

RANGE: Final = 8.0
"""Whisper: log10 of the range below the loudest band that is kept."""

NOTHING: Final = 1e-30
"""An energy far below LEAST_ENERGY at any level, so that there is a logarithm of silence."""

KEPT_SECONDS: Final = 11
"""The eight of a question, and three for it to wait in while the caller's sound goes on."""


MATRIX_WORK: Final = 60**3
"""Below this many multiplications OpenBLAS stays in its caller's thread."""


class TurnSound:
    """One caller's recent sound, and of it the frames that questions have needed so far.

    `feed` belongs to the loop, `picture` to a worker thread; they may run at the same time.
    """

    def __init__(self, rate: int, recent: RecentSound | None = None) -> None:
        """Begin a stream of `rate` samples a second; any but 8 and 16 kHz is resampled.

        `recent` is where the stream's sound is kept by whoever feeds it; if there is none, or it
        is of a rate that is resampled, sound is kept here.
        """
        native = rate if rate in (8000, 16000) else MODEL_RATE
        self.rate = rate
        self.native = native
        self._resampler = None if rate == native else Resampler(rate, native)
        self._hop = native // FRAMES_PER_SECOND
        self._width = native // WINDOWS_PER_SECOND
        self._shares = recent is not None and rate == native
        shared = recent if self._shares else None
        self._recent = shared or RecentSound(KEPT_SECONDS * native)
        self._frames = Frames(KEPT_SECONDS * FRAMES_PER_SECOND)
        self._lock = threading.Lock()

    @property
    def end(self) -> int:
        """Samples at `native` rate so far."""
        return self._recent.end

    def feed(self, samples: Samples) -> None:
        """Take the next samples."""
        if self._shares:
            return
        pcm = samples.tobytes()
        if self._resampler is not None:
            pcm = self._resampler.feed(pcm)
        self._recent.push(self._recent.end, pcm)

    def picture(self, start: int, at: int, frames: int = FRAMES) -> Floats:
        """Return the last `frames` columns of the picture of [start, at), as `[80, frames]`.

        Positions are at the stream's own rate; both are rounded down to 10 ms, and `at` to what a
        resampler has given out. Sound before `start` is left out as if there were none.
        Raise ValueError when the sound is not kept any more.
        """
        last = min(at * self.native // self.rate, self.end) // self._hop
        first = min(max(start * self.native // self.rate // self._hop, last - FRAMES, 0), last)
        if first * self._hop - self._width < self.end - self._recent.kept:
            raise ValueError("the sound asked about is not kept any more")
        with self._lock:
            # The last frame reaches beyond `at`, and what will come there must not matter.
            for begin, end in self._frames.lacking(first, max(last - 1, first)):
                self._transform(begin, end)
            mean, deviation = self._moments(first, last)
            logs = self._assembled(first, last, min(frames, FRAMES), mean)
        logs -= np.float32(2.0 * np.log10(deviation))
        np.maximum(logs, max(LEAST_ENERGY, float(logs.max()) - RANGE), out=logs)
        logs += 4.0  # Whisper: shifted and scaled to about -1 to 1
        logs *= 0.25
        return logs

    def _moments(self, first: int, last: int) -> tuple[float, float]:
        """Return mean and deviation over eight seconds, of which [first, last) are not silence."""
        total, squares = self._frames.sums(first, max(last - 1, first))
        if last > first:
            begin = (last - 1) * self._hop
            ending = self._read(np.arange(begin, begin + self._hop)).astype(np.float64)
            total += float(ending.sum())
            squares += float(ending @ ending)
        count = SECONDS * self.native
        mean = total / count
        return mean, float(np.sqrt(max(squares / count - mean * mean, 0.0) + LEAST_VARIANCE))

    def _assembled(self, first: int, last: int, frames: int, mean: float) -> Floats:
        """Put logarithms of energies together, not normalised but for the mean."""
        oldest = last - frames
        logs = np.full((BANDS, frames), np.log10(NOTHING), np.float32)
        low = np.zeros((CORRECTED, frames), np.float32)
        line = np.zeros(frames, np.complex64)
        begin = max(first, oldest)
        if begin < last - 1:
            self._frames.copy(begin, last - 1, logs, low, line, begin - oldest)
        edges = self._edges(first, last, oldest)
        spectrum = self._spectrum(self._edge_windows(edges, first, last))
        energy = _energy(spectrum) @ mel_weights(self.native)
        logs[:, edges - oldest] = np.log10(np.maximum(energy, NOTHING)).T
        low[:, edges - oldest] = energy[:, :CORRECTED].T
        line[edges - oldest] = spectrum[:, 1]
        # A Hann window's own spectrum has -n / 4 at its first line.
        without = line + np.float32(mean * WIDTH / 4)
        low += low_weights() * (_energy(without) - _energy(line))
        logs[:CORRECTED] = np.log10(np.maximum(low, NOTHING))
        return logs

    def _edges(self, first: int, last: int, oldest: int) -> Longs:
        """Name the frames that reach over an end of the sound asked about."""
        near = {first - 1, first, first + 1, last - 1}
        return np.array(sorted(k for k in near if oldest <= k < last), np.int64)

    def _edge_windows(self, edges: Longs, first: int, last: int) -> Floats:
        """Cut windows that end in silence before a short turn, and else in mirrored sound.

        Whisper pads eight seconds at both ends with their own mirror image.
        """
        begin, end = first * self._hop, last * self._hop
        around = np.arange(-(self._width // 2), self._width // 2)
        places = edges[:, None] * self._hop + around[None, :]
        places = np.where(places >= end, 2 * (end - 1) - places, places)
        if last - first == FRAMES:
            places = np.where(places < begin, 2 * begin - places, places)
        windows = self._read(places)
        windows[places < begin] = 0.0
        return windows

    def _transform(self, first: int, last: int) -> None:
        """Compute whole frames, a few at a time."""
        weights = mel_weights(self.native)
        step = max(MATRIX_WORK // weights.size, 1)
        for begin in range(first, last, step):
            end = min(begin + step, last)
            at = begin * self._hop - self._width // 2
            length = (end - 1 - begin) * self._hop + self._width
            piece = self._read(np.arange(at, at + length))
            spectrum = self._spectrum(sliding_window_view(piece, self._width)[:: self._hop])
            self._frames.put(
                begin,
                spectrum[:, 1],
                _energy(spectrum) @ weights,
                piece[self._width // 2 :][: (end - begin) * self._hop].reshape(-1, self._hop),
            )

    def _read(self, places: Longs) -> Floats:
        """Read sound at any positions, full scale 1; before the stream there is silence."""
        sound = self._recent.at(places).astype(np.float32)
        sound[places < 0] = 0.0
        sound *= np.float32(1.0 / 32768.0)
        return sound

    def _spectrum(self, windows: Floats) -> npt.NDArray[np.complex64]:
        """Transform windows, scaled as if they were at 16 kHz."""
        return np.fft.rfft(windows * hann(self.native)).astype(np.complex64, copy=False)


class Frames:
    """Keeps what was computed of each frame, in rings; frame k lies at k modulo their length."""

    def __init__(self, capacity: int) -> None:
        """Start with nothing."""
        self._capacity = capacity
        self._logs = np.zeros((BANDS, capacity), np.float32)
        "log10 of each band's energy"
        self._low = np.zeros((CORRECTED, capacity), np.float32)
        "energies of the lowest bands, as they are"
        self._line = np.zeros(capacity, np.complex64)
        "the spectrum's line at 40 Hz"
        self._sums = np.zeros((2, capacity), np.float64)
        "of the 10 ms of sound that begin at the frame's centre: sum, sum of squares"
        self._from = self._to = 0

    def lacking(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return what must be put so that [first, last) is there; what is too old is forgotten."""
        if first > self._to or last < self._from:
            self._from = self._to = first
        ranges = [(first, self._from), (self._to, last)]
        self._to = max(self._to, last)
        self._from = max(min(self._from, first), self._to - self._capacity)
        return [(begin, end) for begin, end in ranges if begin < end]

    def put(
        self, first: int, line: npt.NDArray[np.complex64], energy: Floats, sound: Floats
    ) -> None:
        """Keep frames from `first` on: one row each of spectrum, energies and sound."""
        columns = np.arange(first, first + len(line)) % self._capacity
        self._line[columns] = line
        self._low[:, columns] = energy[:, :CORRECTED].T
        self._logs[:, columns] = np.log10(np.maximum(energy, NOTHING)).T
        exact = sound.astype(np.float64)
        self._sums[0, columns] = exact.sum(axis=1)
        self._sums[1, columns] = np.einsum("ij,ij->i", exact, exact)

    def copy(
        self,
        first: int,
        last: int,
        logs: Floats,
        low: Floats,
        line: npt.NDArray[np.complex64],
        to: int,
    ) -> None:
        """Copy frames first to last to the columns of other arrays that begin at `to`."""
        while first < last:  # once, or twice around the ring's seam
            at = first % self._capacity
            count = min(last - first, self._capacity - at)
            logs[:, to : to + count] = self._logs[:, at : at + count]
            low[:, to : to + count] = self._low[:, at : at + count]
            line[to : to + count] = self._line[at : at + count]
            first += count
            to += count

    def sums(self, first: int, last: int) -> tuple[float, float]:
        """Sum over the 10 ms pieces first to last: samples, and their squares."""
        places = np.arange(first, last) % self._capacity
        total, squares = self._sums[:, places].sum(axis=1)
        return float(total), float(squares)


def _energy(spectrum: npt.NDArray[np.complex64]) -> Floats:
    """Square magnitudes."""
    real, imaginary = spectrum.real, spectrum.imag
    return real * real + imaginary * imaginary
