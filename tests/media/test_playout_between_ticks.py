"""Sound that begins between two ticks: the lead leaves at once, the rest on the ticks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.codec import wire_form
from media.playout import Began, Chunk, Dry, Finished, Playout
from tests.media.far_end import TICK, FarEnd

PCMU = wire_form("pcmu", 8000)
FRAME = 160
LEAD = 800

phases = st.floats(0.0, TICK)
"""Seconds from the beginning to the tick that follows."""

wobbles = st.lists(st.floats(-0.004, 0.004), min_size=40, max_size=40)
"""Seconds by which ticks are late."""


def ramp(samples: int) -> bytes:
    return bytes(n % 251 for n in range(samples))


def new(lead: int = LEAD, latency: float = 0.0) -> Playout:
    return Playout(PCMU, lead=lead, latency=latency)


@given(phases, wobbles, st.sampled_from([320, 480, 800]))
def test_the_lead_leaves_at_once_and_then_a_frame_a_tick(
    phase: float, wobble: list[float], lead: int
) -> None:
    playout = new(lead)
    playout.push(1, ramp(16000))
    assert len(playout.pull(1.0, ticks=False)) == lead // FRAME
    ticks = [1.0 + phase + n * TICK + late for n, late in enumerate(wobble)]
    counts = [len(playout.pull(max(1.0, when))) for when in ticks]
    assert counts == [1] * len(ticks)


@given(st.floats(0.0, 0.0199), st.sampled_from([160, 320, 800]), st.floats(0.0, 0.1))
def test_the_far_side_always_has_something_to_play(phase: float, lead: int, delay: float) -> None:
    playout = new(lead)
    far = FarEnd(playout, delay, 0.0)
    playout.push(1, ramp(8000))
    playout.end(1)
    far.send(playout.pull(1.0, ticks=False), 1.0)
    for number in range(60):
        far.tick(1.0 + phase + number * TICK)
    far.play(5.0)
    assert far.gaps == []
    assert bytes(far.heard[1]) == ramp(8000)
    assert playout.underruns == 0


@given(phases, wobbles)
def test_what_is_heard_is_known_from_the_moment_it_began(phase: float, wobble: list[float]) -> None:
    """Against a far side 30 ms away that echoes marks: right within the error, at any time."""
    playout = new(latency=0.03)
    far = FarEnd(playout, 0.03, 0.03)
    playout.push(1, ramp(3200))
    playout.end(1)
    far.send(playout.pull(1.0, ticks=False), 1.0)
    events = []
    for number, late in enumerate(wobble):
        now = max(1.0, 1.0 + phase + number * TICK + late)
        events += far.tick(now)
        known = playout.heard(1, now)
        assert abs(known.heard - far.truth(1, now)) <= known.error + 1
    began, finished, dry = events
    assert began == Began(1, pytest.approx(1.03, abs=0.001))
    assert isinstance(finished, Finished)
    assert finished.position.heard == 3200
    assert dry == Dry()


def test_a_beginning_shorter_than_the_lead_is_filled_up_at_the_tick() -> None:
    playout = new()
    playout.push(1, ramp(FRAME))
    assert len(playout.pull(1.0, ticks=False)) == 1
    playout.push(1, ramp(8000))
    assert len(playout.pull(1.013)) == LEAD // FRAME
    assert [len(playout.pull(1.013 + n * TICK)) for n in range(1, 10)] == [1] * 9


def test_less_than_a_frame_begins_at_the_tick() -> None:
    playout = new()
    playout.push(1, ramp(FRAME - 1))
    assert playout.pull(1.0, ticks=False) == []
    playout.push(1, ramp(8000))
    counts = [len(playout.pull(1.013 + n * TICK)) for n in range(10)]
    assert counts == [LEAD // FRAME + 1] + [1] * 9


def run_dry(playout: Playout, now: float) -> float:
    """Let a short utterance begin between two ticks, 15 ms before one, and be heard to its end."""
    far = FarEnd(playout)
    playout.push(1, ramp(1600))
    playout.end(1)
    far.send(playout.pull(now, ticks=False), now)
    assert Dry() in far.run(now + 0.015, 30)
    return now + 0.015 + 30 * TICK


@pytest.mark.parametrize("ticks", [True, False])
def test_each_run_has_a_beat_of_its_own(ticks: bool) -> None:
    """A beginning between ticks says nothing of the next beginning."""
    playout = new()
    now = run_dry(playout, 1.0) - (0.0 if ticks else 0.002)
    playout.push(2, ramp(16000))
    counts = [len(playout.pull(now, ticks=ticks))]
    tick = now + (TICK if ticks else 0.002)
    counts += [len(playout.pull(tick + n * TICK)) for n in range(20)]
    assert counts == [LEAD // FRAME + ticks] + [1] * 20


def test_after_a_hold_the_lead_is_whole_again() -> None:
    playout = new()
    far = FarEnd(playout)
    playout.push(1, ramp(16000))
    far.send(playout.pull(1.0, ticks=False), 1.0)
    far.run(1.015, 10)
    playout.hold("caller")
    assert playout.rewind(1.215)
    far.clear(1.215)
    far.run(1.235, 10)
    playout.resume("caller")
    counts = [len(playout.pull(1.435 + n * TICK)) for n in range(10)]
    assert counts == [LEAD // FRAME + 1] + [1] * 9


class TestSilence:
    @pytest.mark.parametrize(("lead", "may"), [(0, False), (FRAME - 1, False), (FRAME, True)])
    def test_sound_begins_between_ticks_where_there_is_a_lead(self, lead: int, may: bool) -> None:
        assert new(lead).begins_between_ticks is may

    def test_it_is_silent_until_something_waits_and_after_the_last_was_told(self) -> None:
        playout = new()
        far = FarEnd(playout, 0.03, 0.03)
        assert playout.silent
        playout.push(1, ramp(1600))
        playout.end(1)
        events: list[object] = []
        for number in range(40):
            assert not playout.silent
            assert not playout.begins_between_ticks
            events = list(far.tick(1.0 + number * TICK))
            if Dry() in events:
                break
        assert isinstance(events[0], Finished)
        assert playout.silent
        assert playout.begins_between_ticks

    def test_an_empty_utterance_is_something_to_tell(self) -> None:
        playout = new()
        playout.end(1)
        assert not playout.silent
        playout.poll(1.0)
        assert playout.silent

    def test_a_flush_tells_all_there_is(self) -> None:
        playout = new()
        playout.push(1, ramp(1600))
        sent: list[Chunk] = playout.pull(1.0)
        assert sent
        playout.flush(1.1)
        assert playout.silent
        assert playout.poll(1.1) == []

    def test_while_it_is_held_nothing_begins(self) -> None:
        playout = new()
        playout.hold("caller")
        playout.push(1, ramp(1600))
        assert playout.pull(1.0, ticks=False) == []
        assert not playout.silent
