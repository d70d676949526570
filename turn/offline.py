"""Runs turn-taking over a recording, faster than real time and the same each time.

The models are given as functions; what they would have taken on a live call is modelled in audio
time, so that a decision comes as late here as it would there.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from media.frame import Samples
from turn.events import (
    AgentAsks,
    AgentBegan,
    AgentSilent,
    AskWords,
    AssessTurn,
    TurnAssessed,
    TurnInput,
    TurnOutput,
    VoiceScored,
    WordsArrived,
)
from turn.features import SECONDS
from turn.semantic import LEAD_SECONDS
from turn.taking import TurnSettings, TurnTaking

PART_SECONDS = 8.0
"""A part of a turn longer than this is not heard again with what follows, as on a live call."""


@dataclass(frozen=True, slots=True)
class Ears:
    """The models a recording is heard with; each takes samples and their rate."""

    voice: Callable[[Samples, int], Sequence[VoiceScored]]
    "voice activity of the whole recording"
    semantic: Callable[[Samples, int], float | None] | None = None
    """how finished the sound of a turn up to now is, 0 to 1; None: no answer; it is given what the
    detector looks at, the last eight seconds at most, and a little from before the turn"""
    words: Callable[[Samples, int], str] | None = None
    "the words of a piece of sound"


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds of audio time in which a live call would have its answers."""

    voice: float = 0.01
    "a window is judged as soon as it is complete; with many calls up to 20 ms later"
    semantic: float = 0.10
    "15 to 25 ms of one core; the rest is for the questions of other calls that are in front"
    words: float = 0.03
    "fixed part"
    words_per_second: float = 0.035
    "for each second of sound: 2 s take 40 to 90 ms of one core, 4 s 80 to 160 ms"

    def of_words(self, seconds: float) -> float:
        """Return the time in which the words of so much sound are there."""
        return self.words + self.words_per_second * seconds


@dataclass(frozen=True, slots=True)
class Costs:
    """What one run asked of the models, which is nearly all it costs."""

    semantic_questions: int
    words_questions: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to one of the machine's questions."""

    given: TurnAssessed | WordsArrived
    seconds: float
    "processor time it took"


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said, and when: with everything a live call would have waited for."""

    at: float
    "seconds of audio time"
    what: TurnOutput | Answer


@dataclass(frozen=True, slots=True)
class Run:
    """What turn-taking said about a recording."""

    rate: int
    said: tuple[Said, ...]
    "in the order of audio time"
    costs: Costs

    def first(self, kind: type[TurnOutput]) -> Said | None:
        """Return the first output of a kind."""
        return next((each for each in self.said if isinstance(each.what, kind)), None)


@dataclass(slots=True)
class _Pass:
    """One run on its way."""

    samples: Samples
    rate: int
    ears: Ears
    latency: Latency
    machine: TurnTaking
    said: list[Said] = field(default_factory=list)
    waiting: list[tuple[float, int, Answer]] = field(default_factory=list)
    "answers on their way: when due, in which order asked"
    asked: dict[str, int] = field(default_factory=dict)
    turn: int = -1
    "where the turn begins whose words were asked for last"
    settled: int = 0
    "up to here its words are found"
    before: list[str] = field(default_factory=list)

    def tell(self, event: TurnInput, at: float) -> None:
        """Give the machine an input at `at` seconds and answer what it asks."""
        for output in self.machine.handle(event):
            self.said.append(Said(at, output))
            match output:
                case AssessTurn():
                    self._assess(output, at)
                case AskWords():
                    self._recognise(output, at)
                case _:
                    pass

    def deliver(self, until: float) -> None:
        """Give the machine the answers that are there before `until` seconds."""
        while self.waiting and self.waiting[0][0] < until:
            at, _, answer = heapq.heappop(self.waiting)
            self.said.append(Said(at, answer))
            self.tell(answer.given, at)

    def _assess(self, question: AssessTurn, at: float) -> None:
        began = time.thread_time()
        probability = None
        if self.ears.semantic is not None:
            first = question.start - int(LEAD_SECONDS * self.rate)
            first = max(0, first, question.at - SECONDS * self.rate)
            probability = self.ears.semantic(self.samples[first : question.at], self.rate)
        seconds = self._asked("semantic", began)
        answer = Answer(TurnAssessed(question.at, probability), seconds)
        self._expect(answer, at + self.latency.semantic)

    def _recognise(self, question: AskWords, at: float) -> None:
        if self.ears.words is None:
            self._expect(Answer(WordsArrived(None, question.end), 0.0), at)
            return
        began = time.thread_time()
        if question.start != self.turn:
            self.turn = self.settled = question.start
            self.before.clear()
        sound = self.samples[self.settled : question.end]
        text = self.ears.words(sound, self.rate)
        seconds = self._asked("words", began)
        length = len(sound) / self.rate
        text = " ".join(part for part in (*self.before, text) if part)
        if length >= PART_SECONDS:
            self.before, self.settled = [text], question.end
        due = at + self.latency.of_words(length)
        self._expect(Answer(WordsArrived(text, question.end), seconds), due)

    def _expect(self, answer: Answer, due: float) -> None:
        heapq.heappush(self.waiting, (due, sum(self.asked.values()), answer))

    def _asked(self, what: str, began: float) -> float:
        """Count a question; give what it took."""
        self.asked[what] = self.asked.get(what, 0) + 1
        return time.thread_time() - began


def run(
    samples: Samples,
    rate: int,
    ears: Ears,
    settings: TurnSettings | None = None,
    *,
    latency: Latency | None = None,
    others: Sequence[tuple[int, TurnInput]] = (),
) -> Run:
    """Take turns over a recording; `others` are further inputs with the position they come at."""
    windows = ears.voice(samples, rate)
    machine = TurnTaking(rate, settings)
    latency = latency or Latency()
    course = _Pass(samples, rate, ears, latency, machine)
    coming = sorted(others, key=lambda other: other[0])
    for window in windows:
        while coming and coming[0][0] <= window.start:
            _, event = coming.pop(0)
            course.tell(event, window.start / rate)
        heard = window.end / rate + latency.voice
        course.deliver(heard)
        course.tell(window, heard)
    course.deliver(len(samples) / rate)
    return Run(
        rate,
        # What a live call would have known only after the last sample is not of this recording.
        tuple(each for each in course.said if each.at * rate <= len(samples)),
        Costs(course.asked.get("semantic", 0), course.asked.get("words", 0)),
    )


def agent_speaking(
    start: float, end: float, rate: int, *, asked: float | None = None
) -> list[tuple[int, TurnInput]]:
    """Return the inputs of an agent that is heard from `start` to `end` seconds.

    `asked`: from where on a question of its was heard.
    """
    first, last = round(start * rate), round(end * rate)
    said: list[tuple[int, TurnInput]] = [(first, AgentBegan(first)), (last, AgentSilent(last))]
    if asked is not None:
        heard = round(asked * rate)
        said.insert(1, (heard, AgentAsks(heard, asks=True)))
    return said


# --- as lines for people and programs ----------------------------------------------------------

Event = Literal[
    "speech_started",
    "speech_stopped",
    "assessed",
    "words",
    "draft",
    "resumed",
    "ended",
    "dropped",
    "overlap",
    "held",
    "backchannel",
    "interrupted",
]
