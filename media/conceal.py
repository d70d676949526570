"""What to play when sound is missing, is too much, or is left out on purpose.

Concealment follows the method of ITU-T G.711, Appendix I: the last pitch periods go on and fade.
Comfort noise follows RFC 3389: white noise of a given level, coloured by an all-pole filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Signal = npt.NDArray[np.float32]

HISTORY_SECONDS = 0.04875
"""G.711 Appendix I keeps 390 samples at 8 kHz: three periods of the deepest voice and a margin."""

PITCH_SECONDS = (0.005, 0.015)
"""Periods searched, 66 to 200 Hz (G.711 Appendix I); a higher voice is found at a multiple."""

MATCH_SECONDS = 0.02
"""Length of the stretch that is compared with its past to find the period (Appendix I)."""

LOSS_STEP_SECONDS = 0.01
"""After each so much of loss one more period is used, up to three, lest it sound like a buzz."""

FADE_AFTER = 0.01
FADE_SECONDS = 0.05
"""Full level for 10 ms, then 20 % less every 10 ms: silence after 60 ms (Appendix I)."""

RETURN_SECONDS = 0.004
"""Overlap where real sound comes back: 4 ms, and 4 more for each 10 ms lost (Appendix I)."""

LONGEST_RETURN = 0.01


def _signal(pcm: bytes) -> Signal:
    return np.frombuffer(pcm, dtype="<i2").astype(np.float32)


def _pcm(signal: Signal) -> bytes:
    return np.clip(np.rint(signal), -32768, 32767).astype("<i2").tobytes()


def _rising(samples: int) -> Signal:
    """Return the weights of what comes in while something else goes out."""
    return (np.arange(1, samples + 1, dtype=np.float32) / (samples + 1)).astype(np.float32)


def _pitch(signal: Signal, rate: int) -> int:
    """Find the period, in samples, after which the end of the signal is most like itself.

    Higher rates are searched at about 8 kHz first, where a pitch shows just as well.
    """
    factor = max(1, rate // 8000)
    whole = len(signal) // factor * factor
    coarse = signal[-whole:].reshape(-1, factor).mean(axis=1)
    shortest, longest = (round(one * rate / factor) for one in PITCH_SECONDS)
    width = round(MATCH_SECONDS * rate / factor)
    period = _likest(coarse, width, range(shortest, longest + 1)) * factor
    if factor == 1:
        return period
    near = range(period - factor, period + factor + 1)
    return _likest(signal, round(MATCH_SECONDS * rate), near)


def _likest(signal: Signal, width: int, lags: range) -> int:
    """Return the lag at which the last `width` samples correlate best with what was before."""
    windows = np.lib.stride_tricks.sliding_window_view(signal, width)
    first = len(signal) - width - lags[-1]
    past = windows[first : first + len(lags)][::-1]
    energy = np.sqrt(np.einsum("ij,ij->i", past, past))
    return lags[int((past @ signal[-width:] / np.maximum(energy, 1.0)).argmax())]


class Concealer:
    """Continues one stream over its gaps; is shown all that is played."""

    def __init__(self, rate: int) -> None:
        """Begin in silence."""
        self.concealed = 0
        """samples concealed in all"""
        self._rate = rate
        self._step = round(LOSS_STEP_SECONDS * rate)
        self._size = round(rate * HISTORY_SECONDS) * 2
        self._history = bytes(self._size)
        self._missing = 0
        """samples concealed in the present gap"""
        self._before: Signal = np.zeros(0, dtype=np.float32)
        """the sound before the gap"""
        self._pitch = 0
        self._periods = self._before
        """what is repeated, one to three periods"""
        self._phase = 0

    def good(self, pcm: bytes) -> bytes:
        """Take sound that arrived; after a gap, its beginning is blended with the substitute."""
        if self._missing and pcm:
            pcm = self._return(_signal(pcm))
        self._history = (self._history + pcm)[-self._size :]
        return pcm

    def lost(self, samples: int) -> bytes:
        """Return a substitute for that many samples."""
        pcm = _pcm(self._continue(samples))
        self.concealed += samples
        self._history = (self._history + pcm)[-self._size :]
        return pcm

    def mended(self, pcm: bytes) -> bytes:
        """Take a substitute that the codec made itself, and that goes on into what follows."""
        self.concealed += len(pcm) // 2
        return self.good(pcm)

    def _return(self, signal: Signal) -> bytes:
        seconds = RETURN_SECONDS * (1 + self._missing // self._step)
        overlap = min(round(min(seconds, LONGEST_RETURN) * self._rate), len(signal))
        going, coming = self._continue(overlap), _rising(overlap)
        signal[:overlap] = signal[:overlap] * coming + going * (1 - coming)
        self._missing = 0
        return _pcm(signal)

    def _continue(self, samples: int) -> Signal:
        """Go on with the last pitch periods, more of them the longer it lasts, ever softer."""
        parts = [np.zeros(0, dtype=np.float32)]
        left = samples
        while left:
            length = min(left, self._step - self._missing % self._step)
            part = self._next_part(length)
            at = (self._missing + np.arange(length)) / self._rate
            parts.append(part * np.clip(1 - (at - FADE_AFTER) / FADE_SECONDS, 0, 1))
            self._missing += length
            left -= length
        return np.concatenate(parts).astype(np.float32)

    def _next_part(self, length: int) -> Signal:
        """Return periods at full level, blending into more of them where those begin."""
        steps, rest = divmod(self._missing, self._step)
        if rest or steps >= 3:
            return self._repeat(length)
        if not steps:
            self._before = _signal(self._history)
            self._pitch = _pitch(self._before, self._rate)
            self._phase = 0
            self._take_periods(1)
            return self._repeat(length)
        overlap = min(self._pitch // 4, length)
        phase, going = self._phase, self._repeat(overlap)
        # Go on at the same place of a period.
        self._phase = phase % self._pitch
        self._take_periods(1 + steps)
        part = self._repeat(length)
        coming = _rising(overlap)
        part[:overlap] = part[:overlap] * coming + going * (1 - coming)
        return part

    def _take_periods(self, count: int) -> None:
        """Cut the last periods out of the sound before the gap, and make their ends meet."""
        length, quarter = self._pitch * count, self._pitch // 4
        periods = self._before[-length:].copy()
        # The end is blended into what came before the beginning.
        earlier = self._before[-length - quarter : -length][-quarter:]
        quarter = len(earlier)
        coming = _rising(quarter)
        periods[-quarter:] = periods[-quarter:] * (1 - coming) + earlier * coming
        self._periods = periods

    def _repeat(self, length: int) -> Signal:
        places = (self._phase + np.arange(length)) % len(self._periods)
        self._phase += length
        return self._periods[places]


SHORTEST_CUT = 0.0025
"""Seconds; less is not worth a cut."""


@lru_cache(maxsize=16)
def _cuts(shortest: int, longest: int, step: int) -> tuple[npt.NDArray[np.int64], Signal]:
    """Return the cuts to look at, and a row of ones for each, as long as it is."""
    lags = np.arange(shortest, longest + 1, step)
    inside = (np.arange(longest) < lags[:, None]).astype(np.float32)
    return lags, inside


def shorten(pcm: bytes, rate: int) -> bytes:
    """Leave out the stretch of up to half the piece that is missed least: a pitch period.

    Where it was, the sound before and after it are blended; both ends of the piece stay as they
    are, so that it still joins its neighbours.
    """
    signal = _signal(pcm)
    shortest, longest = round(SHORTEST_CUT * rate), len(signal) // 2
    if longest < shortest:
        return pcm
    lags, inside = _cuts(shortest, longest, max(1, rate // 8000))
    # For every cut, the stretch left out beside the one that follows it.
    following = np.lib.stride_tricks.sliding_window_view(signal, longest)[lags]
    likeness = np.einsum("ij,j,ij->i", following, signal[:longest], inside)
    power = np.cumsum(signal * signal, dtype=np.float64)
    first = power[lags - 1]
    energy = np.sqrt(first * (power[2 * lags - 1] - first))
    # Of equally good ones the longer: it brings the depth down sooner.
    best = likeness / np.maximum(energy, 1.0) + 0.05 * lags / longest
    cut = int(lags[int(best.argmax())])
    coming = _rising(cut)
    blended = signal[:cut] * (1 - coming) + signal[cut : 2 * cut] * coming
    return _pcm(np.concatenate((blended, signal[2 * cut :])))


# --- comfort noise -------------------------------------------------------------------------------

RESPONSE_SAMPLES = 128
"""Length at which the noise filter's response is cut off: 16 ms, beyond which it is inaudible."""


@dataclass(frozen=True, slots=True)
class NoiseShape:
    """A comfort noise payload (RFC 3389, section 3)."""

    level: int
    "dB below overload (dBov), 0 to 127"
    reflections: tuple[float, ...] = ()
    "reflection coefficients of the all-pole model, between -1 and 1"

    @staticmethod
    def parse(payload: bytes) -> NoiseShape:
        """Read a payload; raises ValueError for an empty one."""
        if not payload:
            raise ValueError("comfort noise without a level")
        # The most significant bit of the level is unused; 255 is no coefficient, so none is said.
        quantised = [one if one < 255 else 127 for one in payload[1:]]
        # RFC 3389, section 3.2: k_i = 258 * (N_i - 127) / 32768
        return NoiseShape(payload[0] & 0x7F, tuple(258 * (one - 127) / 32768 for one in quantised))

    def encode(self) -> bytes:
        """Write the payload."""
        quantised = [127 + round(one * 32768 / 258) for one in self.reflections]
        return bytes([self.level, *(min(max(one, 0), 254) for one in quantised)])


class ComfortNoise:
    """Makes noise of a shape that may change; the same seed gives the same noise."""

    def __init__(self, shape: NoiseShape, seed: int = 1) -> None:
        """Begin with a shape."""
        self._random = np.random.default_rng(seed)
        self._response = _response(shape)
        self._tail: Signal = np.zeros(len(self._response) - 1, dtype=np.float32)

    def change(self, shape: NoiseShape) -> None:
        """Go on with another shape."""
        self._response = _response(shape)

    def make(self, samples: int) -> bytes:
        """Return the next stretch of noise."""
        white = self._random.standard_normal(samples, dtype=np.float32)
        source = np.concatenate((self._tail, white))
        self._tail = source[-len(self._tail) :]
        return _pcm(np.convolve(source, self._response, "valid").astype(np.float32))


def _response(shape: NoiseShape) -> Signal:
    """Return the impulse response that turns white noise of unit power into the wanted noise."""
    predictor = np.ones(1)
    for reflection in shape.reflections:
        longer = np.append(predictor, 0.0)
        predictor = longer + reflection * longer[::-1]
    response = np.zeros(RESPONSE_SAMPLES)
    response[0] = 1.0
    for at in range(1, RESPONSE_SAMPLES):
        reach = min(at, len(predictor) - 1)
        response[at] = -np.dot(predictor[1 : reach + 1], response[at - reach : at][::-1])
    # 0 dBov is the power of a square wave at overload.
    wanted = 32768 * 10 ** (-shape.level / 20)
    scaled: Signal = (response * wanted / np.sqrt(np.dot(response, response))).astype(np.float32)
    return scaled
