"""A page that is away, back or gone; a call that lasts too long."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.webrtc.watch import Limits, News, Watch

LIMITS = Limits(seconds=60.0, goodbye="Bye.", away_seconds=12.0)


def ticks(watch: Watch, start: float, seconds: float) -> list[tuple[float, News]]:
    """Let time pass without a packet; give the news and when it came."""
    found: list[tuple[float, News]] = []
    for number in range(round(seconds * 50)):
        now = start + 0.02 * (number + 1)
        found += [(round(now, 2), news) for news in watch.tick(now, sounding=False)]
    return found


def test_a_page_is_away_after_a_second_and_gone_after_twelve() -> None:
    (away, gone) = ticks(Watch(LIMITS, 100.0), 100.0, 30.0)
    assert away[1] == "away"
    assert 101.0 <= away[0] <= 101.05
    assert gone[1] == "gone"
    assert 112.0 <= gone[0] <= 112.05


def test_a_packet_brings_it_back() -> None:
    watch = Watch(LIMITS, 0.0)
    ticks(watch, 0.0, 5.0)
    assert watch.away
    watch.alive()
    assert watch.tick(5.02, sounding=False) == ["back"]
    assert ticks(watch, 5.02, 0.9) == []


def test_nobody_was_away_while_this_process_stood_still() -> None:
    watch = Watch(LIMITS, 0.0)
    watch.tick(0.02, sounding=False)
    assert watch.tick(45.0, sounding=False) == []
    watch.alive()
    assert ticks(watch, 45.0, 0.9) == []


def test_a_call_ends_by_its_limit_and_is_told_so_once() -> None:
    watch, news = Watch(LIMITS, 0.0), []
    for number in range(1, 4000):
        watch.alive()
        news += watch.tick(0.02 * number, sounding=False)
    assert news == ["time is up"]


@given(st.lists(st.booleans(), max_size=400))
def test_away_and_back_take_turns(packets: list[bool]) -> None:
    watch, told = Watch(LIMITS, 0.0), ["back"]
    for number, came in enumerate(packets):
        if came:
            watch.alive()
        told += [n for n in watch.tick(0.1 * (number + 1), sounding=False) if n in ("away", "back")]
    assert all(a != b for a, b in itertools.pairwise(told))
