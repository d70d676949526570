"""A frame of a call takes so many steps of the interpreter and makes so many objects, no more."""

from __future__ import annotations

import sys

import pytest

from bench.frames.calls import Frames
from bench.frames.steps import Steps

CALLS, FRAMES = 2, 75

MOST_STEPS, MOST_OBJECTS = 1620, 183
"""A tenth more than there are: who makes the path longer should see it here, and say why."""


@pytest.fixture(scope="module")
def steps() -> Steps:
    steps = Steps(objects=True)
    Frames(CALLS).run(FRAMES, steps.around)
    return steps


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="steps differ from version to version")
def test_a_frame_takes_few_steps(steps: Steps) -> None:
    assert steps.total / CALLS / FRAMES <= MOST_STEPS


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="so do the objects")
def test_a_frame_makes_few_objects(steps: Steps) -> None:
    assert steps.objects / CALLS / FRAMES <= MOST_OBJECTS
