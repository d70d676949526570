"""What somebody hears who waits: the operator's recording, or a few soft notes of our own."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from gateway.plumbing.starting import StartFailed
from media import sound_file
from media.codec import WireForm
from media.resample import convert

NOTES = (261.63, 329.63, 392.0, 523.25, 392.0, 329.63)
"""Hertz: C major, up and down."""
NOTE_SECONDS = 0.6
LEVEL = 0.06
"""Of full scale: clearly softer than a voice, which is at about -20 dBFS on telephones."""
RATE = 8000


class Loop:
    """Sound that begins anew whenever it ends, in wire form."""

    def __init__(self, form: WireForm, pcm: bytes, frame: int) -> None:
        """`frame` is in samples."""
        self._sound = form.encode(pcm)
        self._size = frame * form.bytes_per_sample
        self._at = 0

    def next(self) -> bytes:
        """Return the next frame."""
        end = self._at + self._size
        piece = (self._sound[self._at : end] + self._sound)[: self._size]
        self._at = end % len(self._sound)
        return piece


@lru_cache(maxsize=8)
def music(path: Path | None) -> bytes:
    """Return a loop of 16-bit samples at 8000 Hz; raises StartFailed where a file is no use."""
    if path is None:
        return _notes()
    if not path.is_file():
        raise StartFailed(f"sip.hold_music: {path}: no such file")
    try:
        samples, rate = sound_file.read(path)
    except (OSError, ValueError) as error:
        raise StartFailed(f"sip.hold_music: {error}") from error
    mono = samples.astype(np.int32).mean(axis=1).astype("<i2")
    return convert(mono.tobytes(), rate, RATE)


def _notes() -> bytes:
    at = np.arange(round(NOTE_SECONDS * RATE)) / RATE
    fade = np.minimum(1.0, at / 0.05) * np.exp(-at * 3)
    tune = np.concatenate([np.sin(2 * np.pi * hertz * at) * fade for hertz in NOTES])
    return (tune * LEVEL * 32767).astype("<i2").tobytes()
