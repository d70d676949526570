"""What the ledger says while a path stalls, breaks and comes back, against what an ear really got.

The seed of what fails is in its name.
"""

from __future__ import annotations

from random import Random

import pytest

from media.playout import Playout
from tests.media.far_end import TICK, FarEnd
from tests.media.test_playout import FRAME, PCMU, ramp

SECONDS = 6.0
NEAR = round(0.06 * 8000)
"""Samples by which a position may be off beside its error: an ear does not notice them."""


class Stalls:
    """The delay of a connection that keeps its order, and stands still at times."""

    def __init__(self, random: Random, count: int) -> None:
        self.now = 0.0
        self._way = random.uniform(0.005, 0.08)
        self._random = random
        self._stalls = [
            (begins, begins + random.uniform(0.2, 3.0))
            for begins in sorted(random.uniform(0.0, SECONDS) for _ in range(count))
        ]

    def __call__(self) -> float:
        wait = max(
            (end - self.now for start, end in self._stalls if start <= self.now < end), default=0.0
        )
        return wait + self._way + self._random.uniform(0.0, 0.01)


def true(playout: Playout, truth: int, now: float) -> None:
    position = playout.heard(1, now)
    assert abs(position.heard - truth) <= max(position.error, NEAR), (now, position, truth)


@pytest.mark.parametrize("seed", range(40))
def test_a_connection_that_stalls_either_way_is_told_within_the_error(seed: int) -> None:
    random = Random(seed)
    playout = Playout(PCMU, lead=800, latency=0.05)
    far = FarEnd(playout)
    there, back = Stalls(random, random.randint(1, 3)), Stalls(random, random.randint(0, 2))
    far.forward, far.back = there, back
    playout.push(1, ramp(round(SECONDS * 8000)))
    cut = round(random.uniform(0.5, SECONDS), 3)
    now = 0.0
    while now < cut:
        there.now = back.now = now
        far.tick(now)
        for part in (0.003, 0.014):
            far.deliver(now + part)
            true(playout, far.truth(1, now + part), now + part)
        now = round(now + TICK, 6)
    there.now = now
    far.deliver(now)
    (position,) = playout.flush(now)
    far.clear(now)
    truth = len(far.heard.get(1, b""))
    assert abs(position.heard - truth) <= max(position.error, NEAR), (position, truth)


@pytest.mark.parametrize("seed", range(40))
def test_packets_that_are_lost_for_a_while_are_told_within_the_error(seed: int) -> None:
    """A page plays what leaves now or nothing, and says five times a second where it is."""
    random = Random(seed)
    playout = Playout(PCMU, lead=0, latency=0.08, clears=False)
    way, back = random.uniform(0.02, 0.15), random.uniform(0.005, 0.08)
    playout.measure(way, 0.015)
    playout.push(1, ramp(round(SECONDS * 8000)))
    gaps = [
        (begins, begins + random.uniform(0.1, 4.0), random.choice(("down", "up", "both")))
        for begins in (random.uniform(0.3, SECONDS) for _ in range(random.randint(1, 3)))
    ]

    def lost(when: float, path: str) -> bool:
        return any(start <= when < end and which in (path, "both") for start, end, which in gaps)

    frames: list[tuple[float, int]] = []
    reports: list[tuple[float, float, int]] = []

    def ear(when: float) -> int:
        begun = [(at, end) for at, end in frames if at <= when]
        if not begun:
            return 0
        at, end = begun[-1]
        return end - FRAME + min(FRAME, round((when - at) * 8000))

    for tick in range(round(SECONDS / TICK)):
        now = round(tick * TICK, 6)
        left = [(now + way + random.uniform(0.0, 0.005), one.end) for one in playout.pull(now)]
        if not lost(now, "down"):
            frames += left
        if tick % 10 == 3 and not lost(now, "up"):
            reports.append((now + back, now, ear(now)))
        while reports and reports[0][0] <= now:
            _, when, heard = reports.pop(0)
            if heard:
                playout.report(1, heard, when, 120)
        playout.poll(now)
        for part in (0.0, 0.011):
            true(playout, ear(now + part), now + part)


def test_marks_that_stop_coming_leave_all_since_the_last_in_doubt() -> None:
    playout = Playout(PCMU, lead=800, latency=0.05)
    far = FarEnd(playout, 0.02, 0.02)
    playout.push(1, ramp(40000))
    far.run(0.0, 50)
    sure = playout.heard(1, 1.0)
    assert sure.error <= 0.06 * 8000
    far.echoes.clear()
    far.marks = False
    far.run(1.0, 100)
    later = playout.heard(1, 3.0)
    assert later.heard - later.error <= sure.heard
    assert later.heard > sure.heard + 8000


def test_a_page_that_never_reports_is_believed_by_the_model() -> None:
    playout = Playout(PCMU, lead=0, latency=0.08, clears=False)
    playout.basis = "estimated"
    playout.measure(0.08, 0.06)
    playout.push(1, ramp(16000))
    for tick in range(80):
        playout.pull(tick * TICK)
        playout.poll(tick * TICK)
    assert playout.heard(1, 80 * TICK).error <= 0.061 * 8000


def test_a_line_without_positions_doubts_what_it_plays_while_nothing_comes_from_there() -> None:
    playout = Playout(PCMU, lead=0, latency=0.04, basis="sent")
    playout.push(1, ramp(40000))

    def plays(begins: int, ends: int) -> None:
        for tick in range(begins, ends):
            playout.pull(tick * TICK)
            playout.poll(tick * TICK)

    plays(0, 100)
    sure = playout.heard(1, 2.0)
    assert sure.error <= 0.25 * 8000 + 1
    playout.doubt(1.9)
    plays(100, 150)
    later = playout.heard(1, 3.0)
    assert later.heard == sure.heard + 8000
    assert abs(later.heard - later.error - (sure.heard - 800)) <= 1
    playout.doubt(None)
    assert playout.heard(1, 3.0).error == sure.error


def test_sound_waits_for_a_path_beside_who_else_holds_it() -> None:
    playout = Playout(PCMU, lead=0, latency=0.04, basis="sent")
    playout.push(1, ramp(8000))
    playout.hold("path")
    playout.hold("line")
    playout.resume("line")
    assert playout.pull(0.0) == []
    playout.resume("path")
    assert playout.pull(0.02)
