"""Windows of voice scores as a voice activity model would give them, written down by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from turn.events import TurnInput, TurnOutput, VoiceScored
from turn.taking import TurnTaking

T = TypeVar("T")

RATE = 8000
WINDOW = 256
"""Silero VAD at 8 kHz: 32 ms."""

LOUD = -20.0
QUIET = -60.0


def windows(*spans: tuple[float, bool], start: int = 0, echo: float = 0.0) -> list[VoiceScored]:
    """Return windows for spans of (seconds, voiced)."""
    found: list[VoiceScored] = []
    for seconds, voiced in spans:
        for _ in range(round(seconds * RATE / WINDOW)):
            found.append(window(start, voiced, echo))
            start += WINDOW
    return found


def window(start: int, voiced: bool, echo: float = 0.0) -> VoiceScored:
    level = LOUD if voiced else QUIET
    return VoiceScored(start, start + WINDOW, 0.95 if voiced else 0.02, level, echo)


def feed(machine: TurnTaking, inputs: Iterable[TurnInput]) -> list[TurnOutput]:
    """Return the machine all inputs; give all it says."""
    return list(_said(machine, inputs))


def _said(machine: TurnTaking, inputs: Iterable[TurnInput]) -> Iterator[TurnOutput]:
    for each in inputs:
        yield from machine.handle(each)


def only(kind: type[T], outputs: Iterable[object]) -> list[T]:
    """Return the outputs of one kind."""
    return [each for each in outputs if isinstance(each, kind)]
