"""Plays an answer to the conversation of a call that was placed, by the models that hear calls."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.call.conversation.machine import Conversation
from gateway.call.conversation.vocabulary import Effects, Event
from gateway.call.settings import ConversationSettings, FixedLines
from gateway.events import (
    BeepHeard,
    CallerTurnEnded,
    CallerWords,
    CallInfo,
    CallStarted,
    Draft,
    KeepFloor,
    Record,
    Respond,
    TimePassed,
)
from gateway.log_events import AnsweredByLogged
from gateway.ports import BackendTraits
from media.beep import BeepDetector
from media.frame import AudioFrame, Samples
from turn.events import (
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnDropped,
    TurnEnded,
    TurnResumed,
)
from turn.offline import Ears, Said, run

RATE = 8000
FRAME = 160
WORDS_SECONDS = 0.3
"""After a turn's end its words are known."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was made of an answer; times in seconds since it was there."""

    answered: tuple[tuple[float, AnsweredByLogged], ...]
    left: tuple[float, ...]
    "when a message was begun"

    @property
    def machine(self) -> bool:
        """Whether it was taken for a machine at any time."""
        return any(one.kind in ("machine", "beep") for _, one in self.answered)


class _Course:
    """One call on its way."""

    def __init__(self, samples: Samples, ears: Ears) -> None:
        self._samples = samples
        self._ears = ears
        lines = FixedLines(greeting="Hello.", voicemail="Please call us back.")
        info = CallInfo("c1", "sip", "bench", rate=RATE, direction="outbound", screened=True)
        self._machine = Conversation(info, ConversationSettings(lines=lines), BackendTraits())
        self.words: list[tuple[float, CallerWords]] = []
        self.answered: list[tuple[float, AnsweredByLogged]] = []
        self.left: list[float] = []

    def happens(self, at: float, event: Event) -> None:
        """Let time pass until an event, and let it happen."""
        while (due := self._next()) is not None and due[0] <= at:
            self._take(*due)
        self._take(at, event)

    def _next(self) -> tuple[float, Event] | None:
        deadline = self._machine.deadline
        words = self.words[0] if self.words else None
        if words is not None and (deadline is None or words[0] <= deadline):
            return words
        return None if deadline is None else (deadline, TimePassed())

    def _take(self, at: float, event: Event) -> None:
        if isinstance(event, CallerWords):
            self.words.pop(0)
        self._note(at, self._machine.handle(event, at))

    def _written(self, turn: int, start: int, end: int) -> CallerWords:
        text = self._ears.words(self._samples[start:end], RATE) if self._ears.words else ""
        return CallerWords(turn, text, final=True)

    def _note(self, at: float, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case Record(event=AnsweredByLogged() as told):
                    self.answered.append((at, told))
                    if told.kind == "beep" and self.left:
                        self.left.append(at)  # begun anew
                case KeepFloor(kept=True):
                    self.left.append(at)
                case (
                    Draft(turn=turn, start=start, end=end)
                    | Respond(turn=turn, start=start, end=end)
                ) if end > start:
                    self.words.append((at + WORDS_SECONDS, self._written(turn, start, end)))
                case _:
                    pass


def hear(samples: Samples, ears: Ears) -> Told:
    """Place a call that is answered by these samples at 8 kHz."""
    course = _Course(samples, ears)
    course.happens(0.0, CallStarted())
    coming = [*_turns(run(samples, RATE, ears).said), *_beeps(samples)]
    for at, event in sorted(coming, key=lambda each: each[0]):
        course.happens(at, event)
    course.happens(len(samples) / RATE, TimePassed())
    return Told(tuple(course.answered), tuple(course.left))


def _turns(said: tuple[Said, ...]) -> list[tuple[float, Event]]:
    events: list[tuple[float, Event]] = []
    for each in said:
        match each.what:
            case TurnEnded() as ended:
                events.append((each.at, CallerTurnEnded(ended, ended.end / RATE)))
            case (
                SpeechStarted()
                | SpeechStopped()
                | TurnDrafted()
                | TurnDropped()
                | TurnResumed() as other
            ):
                events.append((each.at, other))
            case _:
                pass
    return events


def _beeps(samples: Samples) -> list[tuple[float, Event]]:
    detector = BeepDetector()
    ends = range(FRAME, len(samples) + 1, FRAME)
    frames = (AudioFrame(samples[end - FRAME : end].tobytes(), RATE, end - FRAME) for end in ends)
    return [(frame.end / RATE, BeepHeard()) for frame in frames if detector.feed(frame)]
