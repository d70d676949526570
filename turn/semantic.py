"""Knows how likely it is that the caller is done, from how the last seconds sounded.

One `TurnAssessor` a process, one `TurnStream` a call:

    assessor = TurnAssessor(runtime)             # loads the model; takes some 0.2 s
    stream = assessor.open(8000)
    stream.feed(frame.samples())                 # every frame, in order; gaps as silence
    said = await stream.assess(start, at, due_seconds)     # TurnAssessed
    stream.close()

Offline, in this thread and without a deadline: `stream.assess_now(start, at)`.
Questions of all calls queue by when they are due; what cannot be in time is dropped before it
costs, and then, as when the model fails (which `fault` says), the probability is None and silence
decides.

On a processor one question is one run, since batches gain nothing there, and short turns are asked
with a shorter window; a GPU takes what has gathered in a few milliseconds as one batch.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inference.batch import BatchSettings
from inference.batcher import Batcher
from inference.errors import Refused, in_words
from inference.manifest import find
from inference.providers import Shapes
from inference.runtime import Runtime, Session
from media.frame import Samples
from media.recent import RecentSound
from turn.events import TurnAssessed
from turn.features import FRAMES, FRAMES_PER_SECOND, TurnSound
from turn.mel import BANDS, Floats
from turn.smartturn import FLOAT_SHIFT, INPUT, SHIFTS, for_gpu, with_plain_softmax, with_window

MODEL = "smart-turn"

LEAD_SECONDS = 0.3
"""Sound from before the first voiced sample: quiet first consonants, and a gate that opens late.
From 0 to 0.3 s it makes no difference on recorded speech, and neither does all there is."""


@dataclass(frozen=True, slots=True)
class SemanticSettings:
    """How questions are put to the model."""

    windows: tuple[int, ...] = (400, FRAMES)
    "on a processor: frames of the windows there are; the shortest that holds the turn is taken"
    largest_batch: int = 64
    "on a GPU"
    gather: float = 0.004
    "on a GPU: seconds to wait for other calls' questions"
    depth: int = 128
    "questions that may wait: with no more than 1.5 a second and call, those of some eighty calls"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: is the caller done at `at`, in the turn that began at `start`?"""

    sound: TurnSound
    start: int
    at: int


class TurnStream:
    """One caller's place in the assessor."""

    def __init__(self, assessor: TurnAssessor, rate: int, recent: RecentSound | None) -> None:
        """Begin; the assessor makes these."""
        self._assessor = assessor
        self._rate = rate
        self._sound = TurnSound(rate, recent)

    def feed(self, samples: Samples) -> None:
        """Take the next samples; costs microseconds."""
        self._sound.feed(samples)

    async def assess(self, start: int, at: int, due_seconds: float) -> TurnAssessed:
        """Ask about the turn [start, at); the probability is None if it takes over `due_seconds`.

        Positions are samples since the stream began; the sound up to `at` must have been fed.
        """
        return await self._assessor.assess(self._question(start, at), due_seconds)

    def assess_now(self, start: int, at: int) -> TurnAssessed:
        """Ask in this thread, however long it takes."""
        return self._assessor.assess_now(self._question(start, at))

    def close(self) -> None:
        """Let go of the stream; questions under way are answered."""

    def _question(self, start: int, at: int) -> Question:
        return Question(self._sound, max(start - int(LEAD_SECONDS * self._rate), 0), at)


class TurnAssessor:
    """Answers the questions of all calls of a process; belongs to one event loop."""

    def __init__(
        self,
        runtime: Runtime,
        settings: SemanticSettings | None = None,
    ) -> None:
        """Load the model."""
        self._settings = settings or SemanticSettings()
        self._on_gpu = runtime.settings.providers[0] != "cpu"
        self._sessions = self._load(runtime)
        self._batcher = Batcher(
            self._answer, runtime.workers, self._batching(runtime), name="turn_detector"
        )

    def open(self, rate: int, recent: RecentSound | None = None) -> TurnStream:
        """Begin a stream of `rate` samples a second; `recent`, if given, keeps it already."""
        return TurnStream(self, rate, recent)

    async def assess(self, question: Question, due_seconds: float) -> TurnAssessed:
        """Answer a question within that time, or say that there is no answer."""
        loop = asyncio.get_running_loop()
        asked = loop.time()
        try:
            answer = await self._batcher.ask(question, asked + due_seconds)
        except Refused:
            return TurnAssessed(question.at, None, loop.time() - asked)
        except Exception as error:  # fence: without the model, silence decides
            return TurnAssessed(question.at, None, loop.time() - asked, fault=in_words(error))
        return TurnAssessed(question.at, answer.value, answer.queue_seconds, answer.model_seconds)

    def assess_now(self, question: Question) -> TurnAssessed:
        """Answer a question in this thread."""
        begun = time.perf_counter()
        probability = self._answer([question])[0]
        return TurnAssessed(question.at, probability, 0.0, time.perf_counter() - begun)

    @property
    def windows(self) -> tuple[int, ...]:
        """Return the windows there are, in frames."""
        return tuple(self._sessions)

    def warm(self) -> None:
        """Run every shape once, so that no caller waits for what is built at first use.

        With TensorRT this builds the engines, which takes minutes without a cache.
        """
        for frames, session in self._sessions.items():
            sizes = (1, self._settings.largest_batch) if self._on_gpu else (1,)
            for size in sizes:
                session.run({INPUT: np.zeros((size, BANDS, frames), np.float32)})

    def probabilities(self, pictures: Floats) -> list[float]:
        """Run the model on pictures of one window, `[batch, 80, frames]`."""
        frames = pictures.shape[2]
        said = self._sessions[frames].run({INPUT: pictures})[0][:, 0].astype(np.float64)
        shift = FLOAT_SHIFT if self._on_gpu else SHIFTS.get(frames, 0.0)
        if shift:
            said = 1.0 / (1.0 + (1.0 / np.clip(said, 1e-9, 1.0) - 1.0) * np.exp(-shift))
        found: list[float] = said.tolist()
        return found

    def window(self, question: Question) -> int:
        """Choose the shortest window, in frames, that holds the turn."""
        hop = question.sound.rate / FRAMES_PER_SECOND
        needed = (question.at - question.start) / hop
        return min((each for each in self._sessions if each >= needed), default=max(self._sessions))

    def _answer(self, questions: Sequence[Question]) -> list[float]:
        """Answer questions in a worker thread."""
        windows = [self.window(each) for each in questions]
        answers = [0.0] * len(questions)
        for frames in set(windows):
            places = [place for place, each in enumerate(windows) if each == frames]
            pictures = [
                each.sound.picture(each.start, each.at, frames)
                for each in (questions[place] for place in places)
            ]
            for place, said in zip(places, self.probabilities(np.stack(pictures)), strict=True):
                answers[place] = said
        return answers

    def _load(self, runtime: Runtime) -> dict[int, Session]:
        """Load the graph for each window, by the window's length in frames."""
        model = find(MODEL).read_bytes()
        if self._on_gpu:
            shape = (BANDS, FRAMES)
            largest = self._settings.largest_batch
            shapes = Shapes((1, *shape), (min(8, largest), *shape), (largest, *shape))
            plain = for_gpu(model)
            return {FRAMES: runtime.load(plain, name=f"{MODEL}-float", shapes={INPUT: shapes})}
        model = with_plain_softmax(model)
        return {
            frames: runtime.load(with_window(model, frames), name=f"{MODEL}-{frames}")
            for frames in sorted(self._settings.windows)
        }

    def _batching(self, runtime: Runtime) -> BatchSettings:
        settings = self._settings
        if self._on_gpu:
            return BatchSettings(settings.largest_batch, settings.gather, 1, settings.depth)
        return BatchSettings(1, 0.0, runtime.settings.workers, settings.depth)
