"""What a run over a recording is told as: one line for each thing that was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from turn.events import (
    AskWords,
    AssessTurn,
    FloorClaimed,
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    SpeechStarted,
    SpeechStopped,
    TurnAssessed,
    TurnDrafted,
    TurnDropped,
    TurnEnded,
    TurnOutput,
    TurnResumed,
    WordsArrived,
)
from turn.offline import Answer, Event, Run


@dataclass(frozen=True, slots=True)
class Line:
    """One event of a run; times are seconds of audio."""

    at: float
    event: Event
    probability: float | None = None
    speech_end: float | None = None
    cost_ms: float | None = None
    detail: str = ""
    "why a turn ended, what an overlap was, the words"


def lines(found: Run) -> list[Line]:
    """Put a run into lines; what the machine asked is told by its answer."""
    told = (_line(each.what, each.at, found.rate) for each in found.said)
    return [line for line in told if line is not None]


def _line(what: TurnOutput | Answer, at: float, rate: int) -> Line | None:
    match what:
        case OverlapBegan() | OverlapHeld() | OverlapDismissed() | FloorClaimed():
            return _overlap_line(what, at)
        case SpeechStarted():
            return Line(at, "speech_started")
        case SpeechStopped(end=end):
            return Line(at, "speech_stopped", speech_end=end / rate)
        case Answer(given=TurnAssessed(probability=probability), seconds=seconds):
            return Line(at, "assessed", probability, cost_ms=1000 * seconds)
        case Answer(given=WordsArrived(text=None)):
            return None
        case Answer(given=WordsArrived(text=text), seconds=seconds):
            return Line(at, "words", cost_ms=1000 * seconds, detail=text or "")
        case TurnDrafted(end=end, probability=probability):
            return Line(at, "draft", probability, end / rate)
        case TurnResumed():
            return Line(at, "resumed")
        case TurnEnded(end=end, probability=probability, why=why):
            return Line(at, "ended", probability, end / rate, detail=why)
        case TurnDropped():
            return Line(at, "dropped")
        case AssessTurn() | AskWords() | Answer():
            return None
        case _:
            assert_never(what)


def _overlap_line(
    what: OverlapBegan | OverlapHeld | OverlapDismissed | FloorClaimed, at: float
) -> Line:
    match what:
        case OverlapBegan():
            return Line(at, "overlap")
        case OverlapHeld():
            return Line(at, "held")
        case OverlapDismissed(kind=kind, text=text):
            return Line(at, "backchannel", detail=f"{kind} {text}".rstrip())
        case FloorClaimed(evidence=evidence):
            return Line(at, "interrupted", detail=evidence)
        case _:
            assert_never(what)
