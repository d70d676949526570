"""EVA's curves: what is in time scores 1, what is early, late, deaf or missing less."""

from __future__ import annotations

import pytest

from gateway.scenarios.curves import on_time, scores
from gateway.scenarios.held import Held, Spoken
from gateway.scenarios.sound_leg import Stretch
from gateway.scenarios.text_call import Used


@pytest.mark.parametrize(
    ("seconds", "tool", "score"),
    [
        (-0.5, False, 0.0),
        (0.0, False, 0.5),
        (0.5, False, 1.0),
        (2.0, False, 1.0),
        (2.75, False, 0.5),
        (3.5, False, 0.0),
        (3.0, True, 1.0),
        (4.0, True, 0.5),
        (6.0, True, 0.0),
    ],
)
def test_an_answer_scores_by_when_it_comes(seconds: float, tool: bool, score: float) -> None:
    assert on_time(seconds, tool=tool) == pytest.approx(score)


def call(*spoken: Spoken, heard: list[tuple[float, float]]) -> Held:
    return Held(list(spoken), stretches=[Stretch(*each) for each in heard])


def test_turns_score_by_their_answers_and_cut_ins_by_how_soon_they_are_yielded_to() -> None:
    first, cut = Spoken("turn", 1.0, 2.0), Spoken("cut_in", 4.0, 6.0)
    assert scores(call(first, cut, heard=[(2.6, 4.5), (6.6, 9.0)])) == pytest.approx([1.0, 0.75])


def test_a_tool_gives_an_answer_more_time() -> None:
    held = call(Spoken("turn", 1.0, 2.0), heard=[(4.75, 6.0)])
    assert scores(held) == pytest.approx([0.5])
    held.used.append((3.0, Used("book", {}, "done", {})))
    assert scores(held) == [1.0]


def test_talking_into_a_turn_costs_half_and_more() -> None:
    held = call(Spoken("turn", 1.0, 4.0), heard=[(3.0, 5.0), (5.5, 6.0)])
    assert scores(held) == pytest.approx([0.25])


def test_a_last_turn_without_an_answer_makes_everything_nothing() -> None:
    held = call(Spoken("turn", 1.0, 2.0), Spoken("turn", 5.0, 6.0), heard=[(2.6, 4.5)])
    assert scores(held) == [0.0, 0.0]
