"""Who is to have the next call, and what is said of all processes together."""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.process.fleet.board import Board, together
from gateway.process.fleet.messages import Standing
from gateway.process.fleet.restarts import LONGEST_WAIT, Restarts


def standing(load: int = 0, refusal: str = "", **figures: Any) -> Standing:
    return Standing(
        pid=1,
        ready=True,
        draining=refusal == "draining",
        load=load,
        refusal=(refusal, "", 7) if refusal else None,
        calls={"sip": load},
        lines={"sip": ("ready", "UDP 5060")},
        parts={"log": (not figures.get("trouble"), "disk full" if figures else "written")},
        figures=msgspec.json.encode(figures),
    )


def test_the_one_with_fewest_calls_has_the_next_and_what_was_given_counts_at_once() -> None:
    board = Board(3)
    board.take({0: standing(2), 1: standing(0), 2: standing(1)})
    assert [board.choose() for _ in range(6)] == [1, 1, 2, 0, 1, 2]


def test_of_equals_ones_own_process_comes_first() -> None:
    boards = [Board(3, own) for own in range(3)]
    for board in boards:
        board.take({number: standing() for number in range(3)})
    assert [board.choose() for board in boards] == [0, 1, 2]


def test_a_full_one_is_passed_over_until_all_are_full() -> None:
    board = Board(2)
    board.take({0: standing(0, "busy"), 1: standing(9)})
    assert board.choose() == 1
    assert board.refusal() is None
    board.take({0: standing(0, "busy"), 1: standing(9, "busy")})
    assert board.choose() == 0  # which says so in its line's own words
    assert board.refusal() == ("busy", "", 7)


def test_nobody_is_chosen_where_nobody_is_there() -> None:
    board = Board(2)
    assert board.choose() is None
    assert board.refusal() == ("busy", "starting", 5)
    board.take({1: standing()})
    board.lost(1)
    assert board.choose() is None


def test_the_gateway_drains_when_all_do() -> None:
    board = Board(2)
    board.take({0: standing(0, "draining"), 1: standing()})
    assert not board.draining()
    board.take({0: standing(0, "draining"), 1: standing(1, "draining")})
    assert board.draining()


def test_figures_are_added_and_each_process_has_its_own() -> None:
    board = Board(2)
    board.take(
        {
            0: standing(1, calls=1, latest_tick=0.5, faults={"log": 1}),
            1: standing(2, calls=2, latest_tick=0.2, faults={"log": 2}, trouble=True),
        }
    )
    found = board.figures()
    assert (found["calls"], found["latest_tick"], found["faults"]) == (3, 0.5, {"log": 3})
    assert [one["calls"] for one in found["processes"]] == [1, 2]
    assert found["parts"]["log"] == {"well": False, "said": "process 1: disk full"}
    assert not board.well()
    assert board.calls() == {"sip": 3}


def test_what_is_no_figure_is_not_added_up() -> None:
    assert together([{"a": 1, "kind": "blocked"}, {"a": 2, "on": True}]) == {"a": 3}


def test_one_that_fails_at_once_is_waited_for_longer_and_longer() -> None:
    restarts = Restarts()
    assert restarts.wait(3600.0) == 0.0
    assert [restarts.wait(0.5) for _ in range(4)] == [0.0, 1.0, 2.0, 4.0]
    assert max(restarts.wait(0.5) for _ in range(20)) == LONGEST_WAIT
    assert restarts.wait(60.0) == 0.0
    assert restarts.wait(0.5) == 0.0
