"""A recording is run faster than real time, the same each time, with a live call's delays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from media.frame import Samples
from tests.turn.windows import RATE, WINDOW, windows
from turn.events import (
    FloorClaimed,
    OverlapHeld,
    TurnDrafted,
    TurnEnded,
    TurnResumed,
    VoiceScored,
)
from turn.offline import Answer, Ears, Latency, agent_speaking, run
from turn.offline_lines import lines
from turn.profile import DEFAULT, Profile
from turn.taking import TurnSettings

SPANS = ((0.32, False), (1.28, True), (0.64, False), (0.64, True), (3.2, False))
SPOKEN = 1.6
"""Where the voice first stops."""

SOUND = np.arange(round(sum(seconds for seconds, _ in SPANS) * RATE), dtype=np.int16)
"""Each sample tells its place, so that the models can say what they were given."""


class Models:
    """Answers by what is set; remembers what it was asked."""

    def __init__(self, probabilities: Sequence[float | None], text: str = "Make it two.") -> None:
        self.probabilities = list(probabilities)
        self.text = text
        self.asked: list[tuple[int, int]] = []
        self.heard: list[tuple[int, int]] = []

    def ears(self) -> Ears:
        return Ears(self.voice, self.semantic, self.words)

    def voice(self, samples: Samples, rate: int) -> list[VoiceScored]:
        return windows(*SPANS)[: len(samples) // WINDOW]

    def semantic(self, samples: Samples, rate: int) -> float | None:
        self.asked.append((int(samples[0]), int(samples[-1])))
        return self.probabilities.pop(0) if self.probabilities else 0.99

    def words(self, samples: Samples, rate: int) -> str:
        self.heard.append((int(samples[0]), int(samples[-1])))
        return self.text


def test_what_the_models_are_given() -> None:
    models = Models([0.99])
    run(SOUND, RATE, models.ears())
    start, end = models.asked[0]
    assert start == round(0.02 * RATE)  # 0.3 s from before the turn
    assert (end + 1) / RATE == pytest.approx(SPOKEN + 0.224)
    start, end = models.heard[0]
    assert start == round(0.32 * RATE)
    assert (end + 1) / RATE == pytest.approx(SPOKEN + 0.128)


def test_answers_come_as_late_as_on_a_live_call() -> None:
    latency = Latency(voice=0.01, semantic=0.1, words=0.03, words_per_second=0.035)
    found = run(SOUND, RATE, Models([0.99]).ears(), latency=latency)
    ended = found.first(TurnEnded)
    assert ended is not None
    asked = SPOKEN + 0.224 + 0.01
    assert ended.at == pytest.approx(asked + 0.1)
    slow = Latency(voice=0.01, semantic=0.1, words=0.2, words_per_second=0.0)
    late = run(SOUND, RATE, Models([0.99]).ears(), latency=slow).first(TurnEnded)
    assert late is not None
    assert late.at == pytest.approx(SPOKEN + 0.128 + 0.01 + 0.2)


def test_two_runs_say_the_same() -> None:
    first, second = (run(SOUND, RATE, Models([0.7, 0.6]).ears()) for _ in range(2))
    assert [(each.at, each.what) for each in first.said if not isinstance(each.what, Answer)] == [
        (each.at, each.what) for each in second.said if not isinstance(each.what, Answer)
    ]
    assert first.first(TurnDrafted) is not None
    assert first.first(TurnResumed) is not None


def test_questions_are_counted() -> None:
    found = run(SOUND, RATE, Models([0.7, 0.7]).ears())
    # One pause is asked about twice, the other once; the recogniser once for each.
    assert (found.costs.semantic_questions, found.costs.words_questions) == (3, 2)


def test_lines_have_the_names_that_are_promised() -> None:
    found = lines(run(SOUND, RATE, Models([0.7, 0.6]).ears()))
    assert [line.event for line in found] == [
        "speech_started",
        "speech_stopped",
        "words",
        "assessed",
        "draft",
        "assessed",
        "speech_started",
        "resumed",
        "speech_stopped",
        "words",
        "assessed",
        "draft",  # sure enough, but a speaker who paused before is waited for
        "ended",
    ]
    assert [line.at for line in found] == sorted(line.at for line in found)
    ended = found[-1]
    assert ended.detail == "semantic"
    assert ended.speech_end == pytest.approx(2.88)
    assert found[3].probability == 0.7
    assert found[3].cost_ms is not None


def test_without_models_silence_decides() -> None:
    ears = Ears(Models([]).voice)
    found = run(SOUND, RATE, ears, TurnSettings(Profile.silence(0.5)))
    ended = found.first(TurnEnded)
    assert ended is not None
    assert ended.at == pytest.approx(SPOKEN + 0.5, abs=0.05)
    nothing = run(SOUND, RATE, ears, TurnSettings(DEFAULT.without("semantic"))).first(TurnEnded)
    assert nothing is not None
    assert isinstance(nothing.what, TurnEnded)
    assert nothing.what.late


def test_what_comes_after_the_last_sample_is_not_of_the_recording() -> None:
    found = run(SOUND[: round(1.83 * RATE)], RATE, Models([0.99]).ears())
    assert found.first(TurnEnded) is None


def test_an_agent_that_speaks_can_be_interrupted() -> None:
    models = Models([0.99], "Wait, not that")
    found = run(SOUND, RATE, models.ears(), others=agent_speaking(0, 5, RATE))
    held, claimed = found.first(OverlapHeld), found.first(FloorClaimed)
    assert held is not None
    assert claimed is not None
    assert 0.32 < held.at < 0.72
    assert "interrupted" in [line.event for line in lines(found)]
