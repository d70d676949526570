"""Figures of turns, from tapes whose every sample is known."""

from __future__ import annotations

import pytest

from gateway.caller.measure import Tape
from gateway.goodput.turns import Claim, figures
from tests.gateway.caller.test_measure import FRAME, at, cut, hear, say, tape, tone


def arrive(one: Tape, start: float, frames: int, late: dict[int, float] | None = None) -> None:
    """Let frames arrive on their schedule, 100 ms ahead of what is heard, but for some."""
    for n in range(frames):
        at = start + 0.02 * max(0, n - 5) + (late or {}).get(n, 0.0)
        one.arrivals.append((at, FRAME))


def test_late_and_missing_frames_belong_to_the_turn_that_they_answer() -> None:
    one = tape(say(3.0, 5.0), say(10.0, 11.0))
    hear(one, 5.5, tone(1.0))
    hear(one, 6.54, tone(1.0))  # two frames are missing
    arrive(one, 5.5, 50)
    hear(one, 11.4, tone(1.0))
    arrive(one, 11.4, 50, {17: 0.03, 19: 0.019})
    first, second = figures(one, 0.02)
    assert (first.frames, first.late, first.missing) == (50, 0, 2)
    assert (second.frames, second.late, second.missing) == (50, 1, 0)
    assert first.response == pytest.approx(0.5, abs=0.001)
    assert first.waited == pytest.approx(5.0)
    assert (first.stop_delay, first.heard_error) == (None, None)


def test_a_stop_is_the_last_sound_before_the_clear() -> None:
    one = tape(cut(3.0, 4.0))
    hear(one, 1.0, tone(2.3))
    one.clears.append(at(3.32))
    hear(one, 4.5, tone(1.0))
    (turn,) = figures(one, 0.02)
    assert turn.stop_delay == pytest.approx(0.3, abs=0.011)
    assert turn.response == pytest.approx(0.5, abs=0.001)


def test_a_stop_without_clears_is_the_beginning_of_silence() -> None:
    one = tape(cut(3.0, 4.0))
    hear(one, 1.0, tone(2.5))
    hear(one, 4.6, tone(1.0))
    assert figures(one, 0.02)[0].stop_delay == pytest.approx(0.5, abs=0.011)


def test_a_pause_inside_speech_is_no_stop() -> None:
    one = tape(cut(3.0, 4.0))
    hear(one, 1.0, tone(2.5))
    hear(one, 4.0, tone(3.0))  # the agent just goes on
    assert figures(one, 0.02)[0].stop_delay == pytest.approx(4.0, abs=0.011)


def test_speech_that_goes_on_after_a_cut_in_is_no_answer_to_it() -> None:
    one = tape(cut(3.0, 4.0))
    hear(one, 1.0, tone(2.3))
    one.marks.append((at(3.3), "g1:u1:1"))
    one.clears.append(at(3.3))
    hear(one, 4.2, tone(1.0))
    one.marks.append((at(5.2), "g1:u1:2"))
    (turn,) = figures(one, 0.02)
    assert turn.response is None
    hear(one, 6.0, tone(1.0))
    one.marks.append((at(7.0), "g2:u2:1"))
    (turn,) = figures(one, 0.02)
    assert turn.response == pytest.approx(2.0, abs=0.001)


def test_speech_that_comes_back_for_a_moment_does_not_hide_the_answer() -> None:
    one = tape(cut(3.0, 5.0))
    hear(one, 1.0, tone(2.3))
    one.marks.append((at(3.3), "g1:u1:1"))
    one.clears += [at(3.3), at(4.0)]
    hear(one, 3.8, tone(0.2))
    one.marks.append((at(4.0), "g1:u1:2"))
    hear(one, 5.6, tone(1.0))
    one.marks.append((at(6.6), "g2:u2:1"))
    (turn,) = figures(one, 0.02)
    assert turn.stop_delay == pytest.approx(1.0, abs=0.011)
    assert turn.response == pytest.approx(0.6, abs=0.001)


@pytest.mark.parametrize("cleared", [True, False])
def test_who_goes_on_after_a_moment_has_not_stopped_on_any_line(cleared: bool) -> None:
    one = tape(cut(3.0, 5.0))
    hear(one, 1.0, tone(2.3))
    if cleared:
        one.clears.append(at(3.3))
    hear(one, 3.8, tone(2.0))
    assert figures(one, 0.02)[0].stop_delay == pytest.approx(2.8, abs=0.011)


def test_what_marks_call_an_answer_may_begin_soon_after_the_stop() -> None:
    one = tape(cut(3.0, 3.5))
    hear(one, 1.0, tone(2.3))
    one.marks.append((at(3.3), "g1:u1:1"))
    one.clears.append(at(3.3))
    hear(one, 3.8, tone(2.0))
    one.marks.append((at(5.8), "g2:u2:1"))
    (turn,) = figures(one, 0.02)
    assert turn.stop_delay == pytest.approx(0.3, abs=0.011)
    assert turn.response == pytest.approx(0.3, abs=0.001)


def test_who_was_silent_already_has_nothing_to_stop() -> None:
    one = tape(cut(3.0, 4.0))
    hear(one, 1.0, tone(1.0))
    hear(one, 4.5, tone(1.0))
    assert figures(one, 0.02)[0].stop_delay is None


def test_what_a_log_claims_is_held_against_what_was_played_of_that_utterance() -> None:
    one = tape(cut(4.0, 5.0))
    hear(one, 1.0, tone(1.0))
    one.marks.append((at(2.0), "g1:u1:1"))
    hear(one, 2.0, tone(2.3))
    one.marks += [(at(3.0), "g1:u2:2"), (at(4.3), "g1:u2:3")]
    one.clears.append(at(4.3))
    right = Claim(4.31, 2, 2.3)
    (turn,) = figures(one, 0.02, [Claim(2.0, 1, 0.4), right])
    assert turn.heard_error == pytest.approx(0.0, abs=0.021)
    (turn,) = figures(one, 0.02, [Claim(4.31, 2, 2.8)])
    assert turn.heard_error == pytest.approx(0.5, abs=0.021)
    (turn,) = figures(one, 0.02, [Claim(7.0, 2, 2.3)])
    assert turn.heard_error is None
