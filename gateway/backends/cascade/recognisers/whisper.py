"""Whisper on this machine, through faster-whisper: more languages and better words, more work.

An option: `pip install 'parley[whisper]'` brings it, and the weights are the operator's own folder.
"""

from __future__ import annotations

import asyncio
import importlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from gateway.backends.cascade.recognisers.turnwise import Question
from media.resample import convert

RATE = 16000


@dataclass(frozen=True, slots=True)
class WhisperSettings:
    """The settings of `recogniser = { kind = "whisper" }`."""

    kind: str
    folder: Path
    "the converted model (CTranslate2), on this machine: nothing is fetched during a call"
    language: str = "en"
    device: Literal["cpu", "cuda"] = "cpu"
    compute: Literal["int8", "float16", "int8_float16", "float32"] = "int8"
    threads: Annotated[int, Meta(ge=1)] = 2
    "of one turn; turns of several calls wait for each other"
    waiting: Annotated[int, Meta(ge=1)] = 4
    "turns that may wait; a recogniser further behind refuses, and a second choice is asked"
    beam: Annotated[int, Meta(ge=1, le=10)] = 1


class Whisper:
    """Writes turns down in a thread of its own, one at a time."""

    def __init__(self, settings: WhisperSettings) -> None:
        """Load the model; raise ValueError in words for the operator."""
        self._settings = settings
        self._model = _load(settings)
        self._thread = ThreadPoolExecutor(1, "whisper")
        self._waiting = 0

    async def write(self, question: Question) -> str:
        """Return the words of a turn; raise OSError when too many wait already."""
        if self._waiting >= self._settings.waiting:
            raise OSError("too many turns wait for Whisper")
        self._waiting += 1
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._write, question)
        except RuntimeError as broken:
            raise OSError(f"Whisper failed: {broken}") from broken
        finally:
            self._waiting -= 1

    def _write(self, question: Question) -> str:
        pcm = convert(question.pcm, question.rate, RATE)
        sound = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
        segments, _ = self._model.transcribe(
            sound,
            language=self._settings.language or None,
            beam_size=self._settings.beam,
            hotwords=", ".join(question.hints) or None,
            condition_on_previous_text=False,  # one turn's mistakes must not enter the next
            without_timestamps=True,
        )
        return " ".join(segment.text.strip() for segment in segments)


def _load(settings: WhisperSettings) -> Any:
    try:
        library = importlib.import_module("faster_whisper")
    except ImportError:
        raise ValueError(
            "the recogniser `whisper` needs a package: `pip install 'parley[whisper]'`"
        ) from None
    if not (settings.folder / "model.bin").is_file():
        raise ValueError(f"{settings.folder} holds no Whisper model: model.bin is missing")
    return library.WhisperModel(
        str(settings.folder),
        device=settings.device,
        compute_type=settings.compute,
        cpu_threads=settings.threads,
        local_files_only=True,
    )
