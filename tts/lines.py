"""Fixed lines (greeting, filler, apology, goodbye): made once, then ready in memory and on disk.

A line on disk is found by the hash of everything it was made from, so that a restart finds it
at once and a changed word, voice or rate makes a new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from inference.runtime import Runtime
from tts.cache import SoundCache
from tts.sound import Sound, SpokenWord
from tts.voice import ClauseVoice

FORM = 1
"""Raised when what is written or how sound is finished changes."""

MEMORY_BYTES = 64 * 1024 * 1024
"""An agent has some twenty lines of 50 kB at 8 kHz: room for sixty agents."""

DISK_FILES = 2000
"""Past this many the oldest are deleted: lines with a caller's name in them come once."""


def lines_folder() -> Path:
    """Return the folder for lines, under the user's cache."""
    cached = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cached) if cached else Path.home() / ".cache") / "parley" / "lines"


class Lines:
    """The fixed lines of one voice; `ready` never waits, `render` makes what is not ready."""

    def __init__(self, runtime: Runtime, voice: ClauseVoice, folder: Path | None = None) -> None:
        """Take the voice, and the folder to keep lines in (None: they are kept in memory alone)."""
        self._runtime = runtime
        self._voice = voice
        self._folder = folder
        self._lines = SoundCache(MEMORY_BYTES)

    def ready(self, text: str, rate: int) -> Sound | None:
        """Return a line that is in memory."""
        return self._lines.get((text, rate))

    async def render(self, text: str, rate: int) -> Sound:
        """Return a line, from the disk or anew; raise OSError when the voice fails."""
        known = self._lines.get((text, rate))
        if known is not None:
            return known
        sound = await self._runtime.run(lambda: self._read(text, rate))
        if sound is None:
            made = sound = await self._voice.say(text, rate)
            if made.pcm:
                await self._runtime.run(lambda: self._write(text, rate, made))
        self._lines.put((text, rate), sound)
        return sound

    async def prepare(self, texts: Iterable[str], rates: Sequence[int]) -> None:
        """Make lines ready at each rate; raise OSError when the voice fails."""
        for text in texts:
            for rate in rates:
                await self.render(text, rate)

    def _path(self, text: str, rate: int) -> Path | None:
        if self._folder is None:
            return None
        made_of = json.dumps([FORM, self._voice.engine.name, rate, text], ensure_ascii=False)
        return self._folder / f"{hashlib.sha256(made_of.encode()).hexdigest()}.line"

    def _read(self, text: str, rate: int) -> Sound | None:
        """Read a line from the disk; what cannot be read is made again."""
        path = self._path(text, rate)
        if path is None:
            return None
        try:
            content = path.read_bytes()
            os.utime(path)  # the ones in use are deleted last
        except OSError:
            return None
        return decode(content)

    def _write(self, text: str, rate: int, sound: Sound) -> None:
        """Write a line; a disk that does not take it costs a second at the next start, no more."""
        path = self._path(text, rate)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, scratch = tempfile.mkstemp(prefix=".making-", dir=path.parent)
            with os.fdopen(handle, "wb") as opened:
                opened.write(encode(sound))
            os.replace(scratch, path)
            self._prune(path.parent)
        except OSError:
            return

    def _prune(self, folder: Path) -> None:
        files = sorted(folder.glob("*.line"), key=lambda each: each.stat().st_mtime)
        for old in files[: max(0, len(files) - DISK_FILES)]:
            old.unlink(missing_ok=True)


def encode(sound: Sound) -> bytes:
    """Write a line: what it is as one line of JSON, then its samples."""
    about = {"bytes": len(sound.pcm), "mark": sound.mark}
    words = [asdict(word) for word in sound.words]
    return json.dumps({**about, "words": words}, ensure_ascii=False).encode() + b"\n" + sound.pcm


def decode(content: bytes) -> Sound | None:
    """Read a line; None: it is not whole."""
    head, _, pcm = content.partition(b"\n")
    try:
        about = msgspec.json.decode(head, type=_About)
    except (msgspec.DecodeError, RecursionError):
        return None
    if len(pcm) != about.bytes:
        return None
    return Sound(pcm, about.words, about.mark)


class _About(msgspec.Struct):
    """What stands before the samples."""

    bytes: int
    mark: str
    words: tuple[SpokenWord, ...]
