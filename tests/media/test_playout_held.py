"""Who holds the ledger, and what becomes of sound that was sent to where nobody was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from media.playout import Began, Dry, Finished, Playout, PlayoutEvent
from tests.media.far_end import TICK
from tests.media.test_playout import FRAME, PCMU, ramp

LATENCY = 2 * TICK
"""To the ear; a whole number of frames, so that each is heard wholly or not at all."""


class Absent:
    """A far end that cannot be cleared, and whose ear is away at times."""

    def __init__(self, **options: Any) -> None:
        self.playout = Playout(PCMU, lead=0, latency=LATENCY, basis="sent", **options)
        self.ticks = 0
        self.events: list[PlayoutEvent] = []
        self._frames: list[tuple[int, int, bytes]] = []
        "at which tick it is heard, which utterance, what was sent"
        self._away: list[tuple[int, int]] = []
        "ticks between which nobody heard anything"
        self._since: int | None = None
        self._cursor = 0

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            now = self.ticks * TICK
            for chunk in self.playout.pull(now):
                self._cursor = max(self.ticks + round(LATENCY / TICK), self._cursor + 1)
                self._frames.append((self._cursor, chunk.utterance, chunk.payload))
            self.events += self.playout.poll(now)
            self.ticks += 1

    @property
    def now(self) -> float:
        return self.ticks * TICK

    def leaves(self, unnoticed: int) -> None:
        """Nobody has been there for so many ticks, and now that is known."""
        self._since = max(0, self.ticks - unnoticed)
        self.playout.hold("line")
        self.playout.take_back(self._since * TICK)

    def returns(self) -> None:
        assert self._since is not None
        self.run(round(LATENCY / TICK))  # nobody comes back before what is on its way is lost
        self._away.append((self._since, max(self.ticks, self._cursor + 1)))
        self._since, self._cursor = None, 0
        self.playout.resume("line")

    def heard(self, utterance: int) -> bytes:
        """What came to an ear."""
        return b"".join(
            payload
            for tick, whose, payload in self._frames
            if whose == utterance and not any(a <= tick < b for a, b in self._away)
        )

    def of(self, kind: type[PlayoutEvent]) -> list[PlayoutEvent]:
        return [event for event in self.events if isinstance(event, kind)]


def test_it_goes_on_when_nobody_holds_it_any_more() -> None:
    playout = Playout(PCMU, lead=0, basis="sent")
    playout.push(1, ramp(1600))
    playout.hold("line")
    playout.hold("caller")
    playout.resume("caller")  # a turn ended: that does not bring the caller back to the telephone
    assert playout.pull(1.0) == []
    playout.hold("caller")
    playout.resume("line")
    assert playout.pull(1.02) == []
    playout.resume("caller")
    assert len(playout.pull(1.04)) == 1
    assert playout.holders == frozenset()


def test_a_flush_lets_go_of_the_callers_hold_alone() -> None:
    playout = Playout(PCMU, lead=0, basis="sent")
    for holder in ("line", "caller"):
        playout.hold(holder)  # type: ignore[arg-type]
    playout.flush(1.0)
    playout.push(2, ramp(1600))
    assert playout.pull(1.0) == []
    playout.resume("line")
    assert len(playout.pull(1.02)) == 1


def test_what_was_sent_into_a_hold_does_not_count_and_is_said_again() -> None:
    it = Absent()
    it.playout.push(1, ramp(50 * FRAME))
    it.playout.end(1)
    it.run(20)
    it.leaves(unnoticed=0)
    # Two frames are on their way to nobody.
    assert it.playout.heard(1, it.now).heard == it.playout.heard(1, it.now).sent == 18 * FRAME
    it.run(500)
    assert it.playout.heard(1, it.now).heard == 18 * FRAME
    assert not it.of(Finished)
    it.returns()
    it.run(60)
    assert it.heard(1) == ramp(50 * FRAME)
    assert len(it.of(Finished)) == len(it.of(Began)) == len(it.of(Dry)) == 1
    assert it.playout.underruns == 0


def test_what_was_counted_as_heard_before_anybody_was_missed_is_taken_back() -> None:
    """A whole utterance too, that was thought to be over."""
    it = Absent()
    for utterance in (1, 2):
        it.playout.push(utterance, ramp(10 * FRAME))
        it.playout.end(utterance)
    it.run(30)
    assert len(it.of(Finished)) == 2
    it.leaves(unnoticed=25)
    assert it.playout.heard(1, it.now).heard == 3 * FRAME
    assert it.playout.heard(2, it.now).heard == 0
    it.run(10)
    assert it.playout.waiting == 17 * FRAME
    it.returns()
    it.run(40)
    assert (it.heard(1), it.heard(2)) == (ramp(10 * FRAME), ramp(10 * FRAME))
    assert it.playout.heard(2, it.now).finished
    assert it.playout.silent


def test_what_was_flushed_is_not_said_again() -> None:
    """The caller wanted no more of it, wherever they were."""
    it = Absent()
    it.playout.push(1, ramp(50 * FRAME))
    it.run(20)
    it.playout.flush(it.now)
    it.leaves(unnoticed=10)
    it.returns()
    it.run(30)
    assert it.playout.silent
    assert it.playout.waiting == 0
    assert len(it._frames) == 20


def test_what_the_far_side_said_it_played_it_played() -> None:
    playout = Playout(PCMU, lead=0, latency=LATENCY, basis="acknowledged", clears=False)
    playout.push(1, ramp(50 * FRAME))
    for tick in range(20):
        playout.pull(tick * TICK)
    playout.report(1, 12 * FRAME, 0.38, 0)
    playout.hold("line")
    playout.take_back(0.1)
    assert playout.heard(1, 0.4).heard == 12 * FRAME


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_all_is_heard_once_and_in_order_however_often_nobody_was_there(data: st.DataObject) -> None:
    it = Absent()
    pushed: dict[int, bytes] = {}
    away = False
    for step in range(1, 1 + data.draw(st.integers(1, 12), "steps")):
        match data.draw(st.sampled_from(["say", "say", "away", "hold", "resume"]), "what"):
            case "say":
                pushed[step] = ramp(data.draw(st.integers(1, 40)) * FRAME)
                it.playout.push(step, pushed[step])
                it.playout.end(step)
            case "away":
                if away:
                    it.returns()
                else:
                    since = max((until for _, until in it._away), default=0)
                    it.leaves(data.draw(st.integers(0, min(60, it.ticks - since))))
                away = not away
            case "hold":
                it.playout.hold("caller")
            case _:
                it.playout.resume("caller")
        it.run(data.draw(st.integers(0, 40)))
    if away:
        it.returns()
    it.playout.resume("caller")
    it.run(40 * len(pushed) + 100)
    for utterance, sound in pushed.items():
        assert it.heard(utterance) == sound
        assert it.playout.heard(utterance, it.now).finished
    assert it.playout.silent


@pytest.mark.parametrize("unnoticed", [0, 50])
def test_nothing_to_take_back_is_said_to_be_nothing(unnoticed: int) -> None:
    it = Absent()
    it.run(100)
    it.playout.hold("line")
    assert it.playout.take_back(it.now - unnoticed * TICK) is False
