"""What a caller's sound is like: clean, or as people call, by tau-voice's published numbers.

`control` is a clean telephone. `regular` (arXiv 2603.13686): noise 15 dB below the voice, give or
take 3; once a minute a burst from 5 dB above it to 10 below; 2 % of the frames lost in bursts of
100 ms (Gilbert-Elliott); a fifth of the half seconds muffled, as behind a hand.
"""

from __future__ import annotations

import random
from typing import Literal

import numpy as np
import numpy.typing as npt

from gateway.scenarios.bursts import FRAME_MS, Bursts
from gateway.scenarios.scenario import Loss

Conditions = Literal["control", "regular"]

NOISE_DB, NOISE_SPREAD_DB = 15.0, 3.0
BURSTS_A_MINUTE, BURST_SECONDS = 1.0, 0.6
BURST_DB = (-5.0, 10.0)
LOSS = Loss(0.02, 100)
MUFFLED_SHARE, MUFFLED_SECONDS = 0.2, 0.5
MUFFLED_HERTZ = 800.0

_Wave = npt.NDArray[np.float64]


def heard_through(pcm: bytes, rate: int, conditions: Conditions, chance: random.Random) -> bytes:
    """Return a caller's sound as it comes; the same chance, the same sound."""
    if conditions == "control":
        return pcm
    wave = np.frombuffer(pcm, "<i2").astype(np.float64)
    level = _voice_level(wave)
    draws = np.random.default_rng(chance.randrange(2**32))
    wave = _muffled(wave, rate, chance)
    ratio = chance.uniform(NOISE_DB - NOISE_SPREAD_DB, NOISE_DB + NOISE_SPREAD_DB)
    wave = wave + noise(len(wave), draws) * level * _gain(-ratio)
    wave = wave + _bursts(len(wave), rate, level, chance, draws)
    wave = _lossy(wave, rate, chance)
    return np.clip(wave, -32768, 32767).astype("<i2").tobytes()


def noise(samples: int, draws: np.random.Generator) -> _Wave:
    """Return noise of level 1 that falls by 3 dB an octave, as rooms and streets do."""
    if not samples:
        return np.zeros(0)
    spectrum = np.fft.rfft(draws.standard_normal(samples))
    shaped = np.fft.irfft(spectrum / np.sqrt(np.maximum(1, np.arange(len(spectrum)))), samples)
    found: _Wave = shaped / max(float(np.sqrt(np.mean(shaped**2))), 1e-9)
    return found


def _voice_level(wave: _Wave) -> float:
    """Return the level of the louder half: pauses are no voice."""
    loud = np.sort(np.abs(wave))[len(wave) // 2 :]
    return float(np.sqrt(np.mean(loud**2))) if len(loud) else 0.0


def _gain(db: float) -> float:
    return float(10 ** (db / 20))


def _bursts(
    samples: int, rate: int, level: float, chance: random.Random, draws: np.random.Generator
) -> _Wave:
    found = np.zeros(samples)
    at = chance.expovariate(BURSTS_A_MINUTE / 60) * rate
    while at < samples:
        start, end = int(at), min(samples, int(at + BURST_SECONDS * rate))
        found[start:end] += noise(end - start, draws) * level * _gain(-chance.uniform(*BURST_DB))
        at += chance.expovariate(BURSTS_A_MINUTE / 60) * rate
    return found


def _muffled(wave: _Wave, rate: int, chance: random.Random) -> _Wave:
    found = wave.copy()
    step = int(MUFFLED_SECONDS * rate)
    for start in range(0, len(wave), step):
        piece = wave[start : start + step]
        if chance.random() >= MUFFLED_SHARE or len(piece) < 2:
            continue
        spectrum = np.fft.rfft(piece)
        hertz = np.fft.rfftfreq(len(piece), 1 / rate)
        spectrum /= 1 + (hertz / MUFFLED_HERTZ) ** 2
        found[start : start + step] = np.fft.irfft(spectrum, len(piece))
    return found


def _lossy(wave: _Wave, rate: int, chance: random.Random) -> _Wave:
    found, frame = wave.copy(), rate * FRAME_MS // 1000
    bursts = Bursts(LOSS, chance)
    for start in range(0, len(wave), frame):
        if bursts.next():
            found[start : start + frame] = 0.0
    return found
