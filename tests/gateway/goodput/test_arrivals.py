"""When calls come: at the rate asked for, as many at once as the mean length says."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from gateway.goodput.arrivals import Arrival, Lengths, arrivals, parse_lengths


def at_once(calls: list[Arrival], moment: float) -> int:
    return sum(call.at <= moment < call.at + call.seconds for call in calls)


def test_calls_come_at_their_rate_and_independently() -> None:
    calls = arrivals(2.0, 10.0, 5000.0, Lengths("fixed", 5.0), random.Random(1).random)
    fresh = [call.at for call in calls if call.at >= 10.0]
    assert len(fresh) == pytest.approx(10_000, rel=0.03)
    gaps = [b - a for a, b in pairwise(fresh)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert deviation == pytest.approx(mean, rel=0.05)  # as of an exponential distribution


@pytest.mark.parametrize("lengths", ["20", "uniform:5-35", "exponential:20", "lognormal:14.5,0.8"])
def test_the_measured_time_begins_as_full_as_it_ends(lengths: str) -> None:
    chosen = parse_lengths(lengths)
    assert chosen.mean == pytest.approx(20.0, rel=0.03)
    begin, end = 0, 0
    for seed in range(300):
        calls = arrivals(1.0, 10.0, 60.0, chosen, random.Random(seed).random)
        begin += at_once(calls, 10.0)
        end += at_once(calls, 69.0)
    assert begin / 300 == pytest.approx(20.0, rel=0.08)
    assert end / 300 == pytest.approx(20.0, rel=0.08)


def test_who_is_there_already_begins_while_it_settles_and_is_still_there_then() -> None:
    calls = arrivals(1.0, 10.0, 5.0, Lengths("fixed", 30.0), random.Random(3).random)
    early = [call for call in calls if call.at < 10.0]
    assert len(early) > 10
    assert all(call.at + call.seconds > 10.0 for call in early)
    assert max(b.at - a.at for a, b in pairwise(early)) < 1.0


def test_the_same_seed_gives_the_same_calls() -> None:
    drawn = [
        arrivals(1.0, 5.0, 60.0, Lengths("exponential", 20.0), random.Random(seed).random)
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("text", ["60", "uniform:30-90", "exponential:60", "lognormal:45,0.8"])
def test_lengths_are_read_as_they_are_written(text: str) -> None:
    assert str(parse_lengths(text)) == text


@pytest.mark.parametrize(
    "text", ["", "x", "0", "-3", "nan", "4000", "uniform:9-3", "uniform:5", "lognormal:60", "a:1"]
)
def test_other_lengths_are_refused_by_what_was_found(text: str) -> None:
    with pytest.raises(ValueError, match=f"found {text!r}"):
        parse_lengths(text)
