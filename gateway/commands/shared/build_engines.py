"""Prepares the turn detector for the configured hardware, and checks that it still agrees."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inference.runtime import Runtime, RuntimeSettings
from media import sound_file
from media.frame import Samples
from turn.agreement import Agreement, ask, compare
from turn.semantic import TurnAssessor


@dataclass(frozen=True, slots=True)
class Built:
    """What was prepared."""

    providers: tuple[str, ...]
    "what the detector really runs on"
    seconds: float
    "for building; TensorRT takes minutes unless its engines are cached"
    agreement: Agreement


def build(settings: RuntimeSettings, speech: Path) -> Built:
    """Build every shape of the detector, and compare its answers with the processor's.

    `speech` is a folder of recordings. Raises ProviderMissing, ModelMissing, ModelWrong, or
    ValueError where it holds none that can be read.
    """
    recordings = load(speech)
    if not recordings:
        raise ValueError(f"{speech} holds no recording at 8000 or 16000 Hz")
    runtime = Runtime(settings)
    began = time.monotonic()
    assessor = TurnAssessor(runtime)
    assessor.warm()
    seconds = time.monotonic() - began
    got = [loaded.got for loaded in runtime.loaded if "smart-turn" in loaded.model]
    plain = Runtime(RuntimeSettings())
    try:
        agreement = compare(ask(assessor, recordings), ask(TurnAssessor(plain), recordings))
    finally:
        plain.close()
        runtime.close()
    return Built(tuple(got[-1]) if got else (), seconds, agreement)


def load(folder: Path) -> list[tuple[Samples, int]]:
    """Read the recordings below a folder: mono, at a rate the detector takes."""
    found = []
    for path in sorted([*folder.rglob("*.flac"), *folder.rglob("*.wav")]):
        samples, rate = sound_file.read(path)
        if rate in (8000, 16000):
            found.append((np.ascontiguousarray(samples[:, 0]), rate))
    return found
