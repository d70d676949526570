"""What a page's tape says: when somebody spoke, and how long the other took to answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from inference.runtime import Runtime
from media.level import levels
from tests.peers.webrtc.visitor import RATE
from tts.hibari import Hibari
from tts.voice import ClauseVoice

WINDOW = 0.01
VOICED_DB = -42.0
"""Between speech and the silence of digital recordings, at the windows above."""

PAUSE = 0.35
"""Seconds; shorter pauses belong to what is said."""

PIECE = 0.1
"""Seconds of what was heard, by which its place is found: a jitter buffer that catches up cuts
a pitch period out of every tenth of a second or so, and then longer pieces match nothing whole."""

HOP = 0.02
ALIKE = 0.75
"""Correlation of a piece with the sound that it is of, behind a codec."""

ASTRAY = 0.5
"""Seconds by which a jitter buffer may be ahead or behind; speech further away is not asked."""

ENOUGH = 5
"""Pieces that must be found; their median is taken, since one may sound like another place."""

Stretches = list[tuple[float, float]]
Samples = npt.NDArray[np.float64]


def voiced(pcm: bytes) -> Stretches:
    """Return the stretches in which somebody speaks, in seconds."""
    loud = np.flatnonzero(levels(pcm, RATE, WINDOW) > VOICED_DB)
    if not len(loud):
        return []
    breaks = np.flatnonzero(np.diff(loud) > PAUSE / WINDOW)
    starts = [loud[0], *loud[breaks + 1]]
    ends = [*loud[breaks], loud[-1]]
    return [(a * WINDOW, (b + 1) * WINDOW) for a, b in zip(starts, ends, strict=True)]


def responses(mine: Stretches, theirs: Stretches) -> list[float]:
    """Return the silence between what the visitor said last and what the agent said next."""
    found: dict[float, float] = {}
    for start, _ in theirs:
        before = [end for _, end in mine if end < start]
        if before:
            found.setdefault(before[-1], start - before[-1])
    return list(found.values())


def spoken(text: str) -> bytes:
    """Return what a line of the agent's sounds like: the same text always sounds the same."""
    runtime = Runtime()
    voice = ClauseVoice(runtime, Hibari(runtime))
    # In a thread: where a browser is driven, the main one has a loop already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(voice.say(text, RATE))).result().pcm


def part(pcm: bytes, start: float, end: float) -> bytes:
    """Return what lies between two times, in seconds."""
    return pcm[2 * round(start * RATE) : 2 * round(end * RATE)]


def position(heard: bytes, whole: bytes) -> float:
    """Say how far into a sound somebody was who heard this of it, in seconds.

    By what was heard and not by how long it took: a jitter buffer hurries and waits.
    """
    ear, sound = _samples(heard), _samples(whole)
    ahead: list[float] = []
    for begin in range(len(ear) - round(PIECE * RATE), 0, -round(HOP * RATE)):
        first = max(0, begin - round(ASTRAY * RATE))
        piece = ear[begin : begin + round(PIECE * RATE)]
        at, alike = _place(piece, sound[first : begin + round((PIECE + ASTRAY) * RATE)])
        if alike > ALIKE:
            ahead.append((first + at - begin) / RATE)
        if len(ahead) == ENOUGH:
            return len(ear) / RATE + float(np.median(ahead))
    raise AssertionError("what was heard is no part of it")


def _place(piece: Samples, sound: Samples) -> tuple[int, float]:
    """Return where in a sound a piece fits best, and how well."""
    size = len(sound) + len(piece)
    product = np.fft.rfft(sound, size) * np.conj(np.fft.rfft(piece, size))
    match = np.fft.irfft(product, size)[: len(sound) - len(piece)]
    power = np.cumsum(np.concatenate([[0.0], sound**2]))
    local = power[len(piece) : len(piece) + len(match)] - power[: len(match)]
    alike = match / np.sqrt((local + 1e-6) * (np.sum(piece**2) + 1e-6))
    at = int(np.argmax(alike))
    return at, float(alike[at])


def _samples(pcm: bytes) -> Samples:
    return np.frombuffer(pcm, "<i2").astype(np.float64) / 32768
