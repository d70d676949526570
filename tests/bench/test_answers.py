"""People who are recorded in the test data are taken for people, over any noise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.answers.answers import people
from bench.answers.heard import hear
from bench.turns.recordings import load
from gateway.commands.shared.offline_models import ears
from inference.runtime import Runtime
from turn.offline import Ears


@pytest.fixture
def heard_with() -> Iterator[Ears]:
    runtime = Runtime()
    yield ears(runtime, "silero")
    runtime.close()


@pytest.mark.wide
def test_people_are_not_taken_for_machines(heard_with: Ears) -> None:
    """Three of a hundred may be."""
    answers = people(load(Path("tests/data/speech")))
    taken = [one.name for one in answers if hear(one.samples, heard_with).machine]
    assert len(answers) >= 90
    assert len(taken) <= 0.03 * len(answers), taken


def test_a_receptionist_is_greeted_as_soon_as_they_wait(heard_with: Ears) -> None:
    recordings = load(Path("tests/data/speech"))
    (greets,) = [
        one for one in people(recordings) if one.name == "answer/tel_ar40_agent_greet.flac"
    ]
    told = hear(greets.samples, heard_with)
    ((at, who),) = told.answered
    assert who.kind == "person"
    assert 0.7 < at - greets.end < 1.3
