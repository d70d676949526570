"""Keeps the sound that was used last, up to so many bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from tts.sound import Sound

WORD_BYTES = 200
"""What a word with its times takes in memory, roughly."""


class SoundCache:
    """Sounds by key; the one that was not used for longest goes first."""

    def __init__(self, limit: int) -> None:
        """Take how many bytes are kept at most."""
        self._limit = limit
        self._sounds: OrderedDict[Hashable, Sound] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        """Count what is kept."""
        return len(self._sounds)

    def get(self, key: Hashable) -> Sound | None:
        """Return a sound that is kept."""
        found = self._sounds.get(key)
        if found is not None:
            self._sounds.move_to_end(key)
        return found

    def put(self, key: Hashable, sound: Sound) -> None:
        """Keep a sound, and let go of others for it; one that is larger than everything is not."""
        old = self._sounds.pop(key, None)
        if old is not None:
            self.bytes -= _size(old)
        if _size(sound) > self._limit:
            return
        self._sounds[key] = sound
        self.bytes += _size(sound)
        while self.bytes > self._limit:
            _, oldest = self._sounds.popitem(last=False)
            self.bytes -= _size(oldest)


def _size(sound: Sound) -> int:
    return len(sound.pcm) + WORD_BYTES * len(sound.words)
