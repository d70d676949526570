"""Figures of calls whose every sample is known."""

from __future__ import annotations

import numpy as np
import pytest

from gateway.caller.measure import Said, Tape, lateness, lateness_p99, measure, same_speech
from gateway.caller.playclock import Piece
from media.codec import wire_form

FORM = wire_form("pcmu", 8000)
FRAME = 160


def tone(seconds: float) -> bytes:
    time = np.arange(round(seconds * 8000)) / 8000
    return FORM.encode(np.rint(8000 * np.sin(2 * np.pi * 440 * time + 1)).astype("<i2").tobytes())


def at(seconds: float) -> int:
    return round(seconds * 8000)


def hear(tape: Tape, start: float, sound: bytes) -> None:
    """Let sound be heard from `start` seconds on, in frames."""
    for n in range(0, len(sound), FRAME):
        tape.heard.append(Piece(at(start) + n, sound[n : n + FRAME]))


def tape(*said: Said, end: float = 30.0) -> Tape:
    return Tape(FORM, said=list(said), end=at(end))


def say(start: float, end: float, name: str = "a") -> Said:
    return Said(name, False, at(start), at(end))


def cut(start: float, end: float) -> Said:
    return Said("cut", True, at(start), at(end))


def test_a_turn_is_measured_from_the_last_voiced_sample_to_the_first_audible_one() -> None:
    one = tape(say(3.0, 5.0), say(10.0, 11.0, "b"))
    quiet = b"\xff" * at(0.1)
    hear(one, 0.5, tone(1.0))
    # The reply begins with a tenth of a second of silence, and has a pause inside.
    hear(one, 5.6, quiet + tone(1.0) + b"\xff" * at(0.5) + tone(0.5))
    figures = measure(one)
    assert figures.greeting.first_audio == pytest.approx(0.5, abs=0.001)
    first, second = figures.turns
    assert first.said == "a"
    assert first.speech_end == 5.0
    assert first.first_audio == pytest.approx(5.7, abs=0.001)
    assert first.response == pytest.approx(0.7, abs=0.001)
    assert first.reply_seconds == pytest.approx(2.0, abs=0.002)
    assert first.premature == 0
    assert (second.first_audio, second.response, second.reply_seconds) == (None, None, 0.0)


def test_a_reply_ends_where_the_next_begins() -> None:
    one = tape(say(1.0, 2.0))
    hear(one, 3.0, tone(1.0))
    hear(one, 4.8, tone(1.0))  # 0.8 s later: something else
    assert measure(one).turns[0].reply_seconds == pytest.approx(1.0, abs=0.002)


def test_no_greeting() -> None:
    one = tape(say(1.0, 2.0))
    hear(one, 3.0, tone(1.0))
    assert measure(one).greeting.first_audio is None


def test_butting_in_is_premature_or_a_negative_response() -> None:
    gave_way = tape(say(1.0, 5.0))
    hear(gave_way, 2.0, tone(0.3))
    hear(gave_way, 3.0, tone(0.3))
    hear(gave_way, 5.5, tone(1.0))
    (turn,) = measure(gave_way).turns
    assert turn.premature == 2
    assert turn.response == pytest.approx(0.5, abs=0.001)
    talked_on = tape(say(1.0, 5.0))
    hear(talked_on, 4.5, tone(2.0))
    (turn,) = measure(talked_on).turns
    assert turn.response == pytest.approx(-0.5, abs=0.001)


def test_a_cut_in_that_clears() -> None:
    one = tape(cut(6.0, 7.0))
    hear(one, 5.0, tone(1.23))
    one.clears.append(at(6.23))
    hear(one, 7.6, tone(1.0))
    (figures,) = measure(one).cut_ins
    assert figures.onset == 6.0
    assert figures.stopped == pytest.approx(6.23, abs=0.001)
    assert figures.stop_delay == pytest.approx(0.23, abs=0.001)
    assert not figures.resumed
    assert figures.heard_of_reply == pytest.approx(1.23, abs=0.001)
    assert figures.response == pytest.approx(0.6, abs=0.001)
    assert measure(one).audio_after_clear_seconds == 0


def test_heard_counts_from_the_first_sample_even_if_it_is_silent() -> None:
    one = tape(cut(6.0, 7.0))
    hear(one, 5.0, b"\xff" * at(0.2) + tone(1.0))
    one.clears.append(at(6.2))
    (figures,) = measure(one).cut_ins
    assert figures.heard_of_reply == pytest.approx(1.2, abs=0.001)


def test_old_sound_after_a_clear_is_counted() -> None:
    one = tape(cut(6.0, 7.0))
    hear(one, 5.0, tone(1.2))
    one.clears.append(at(6.2))
    hear(one, 6.3, tone(0.4))
    assert measure(one).audio_after_clear_seconds == pytest.approx(0.4, abs=0.001)


def test_an_answer_after_a_late_clear_is_not_old() -> None:
    one = tape(cut(6.0, 6.3))
    hear(one, 5.0, tone(1.5))
    one.clears.append(at(6.5))
    hear(one, 6.8, tone(1.0))
    assert measure(one).audio_after_clear_seconds == 0


def test_a_cut_in_that_only_pauses_the_agent_is_resumed() -> None:
    one = tape(cut(6.0, 6.5))
    hear(one, 5.0, tone(1.3))
    hear(one, 6.6, tone(2.0))
    (figures,) = measure(one).cut_ins
    assert figures.resumed
    assert figures.stop_delay == pytest.approx(0.3, abs=0.001)
    assert figures.response is None


@pytest.mark.parametrize(("after", "resumed"), [("g1:u4:9000", True), ("g1:u5:160", False)])
def test_marks_tell_a_resumed_speech_from_an_answer(after: str, resumed: bool) -> None:
    one = tape(cut(6.0, 6.5))
    hear(one, 5.0, tone(1.3))
    one.marks += [(at(6.3), "g1:u4:8000"), (at(7.1), after)]
    hear(one, 7.0, tone(2.0))
    (figures,) = measure(one).cut_ins
    assert figures.resumed is resumed
    assert (figures.response is None) is resumed


def test_a_pause_may_be_made_by_a_clear() -> None:
    """What was not heard comes again in a new generation: it is no old sound, and no answer."""
    one = tape(cut(6.0, 7.5))
    hear(one, 5.0, tone(1.3))
    one.clears.append(at(6.3))
    one.marks += [(at(6.3), "g1:u4:8000"), (at(6.4), "g1:u4:8800"), (at(7.02), "g2:u4:8160")]
    hear(one, 7.0, tone(2.0))
    figures = measure(one)
    (cut_in,) = figures.cut_ins
    assert cut_in.resumed
    assert cut_in.stop_delay == pytest.approx(0.3, abs=0.001)
    assert figures.audio_after_clear_seconds == 0


def test_old_sound_is_old_whatever_its_marks_say_of_the_speech() -> None:
    one = tape(cut(6.0, 7.5))
    hear(one, 5.0, tone(1.3))
    one.clears.append(at(6.3))
    one.marks += [(at(6.3), "g1:u4:8000"), (at(6.52), "g1:u4:8160")]
    hear(one, 6.5, tone(0.4))
    assert measure(one).audio_after_clear_seconds == pytest.approx(0.4, abs=0.001)


def test_a_claim_after_a_pause_clears_twice_and_is_not_resumed() -> None:
    one = tape(cut(6.0, 7.5))
    hear(one, 5.0, tone(1.3))
    one.clears += [at(6.3), at(6.5)]
    one.marks += [(at(6.2), "g1:u4:8000"), (at(8.02), "g3:u5:160")]
    hear(one, 8.0, tone(2.0))
    (figures,) = measure(one).cut_ins
    assert figures.stop_delay == pytest.approx(0.3, abs=0.001)
    assert not figures.resumed
    assert figures.response == pytest.approx(0.5, abs=0.001)


def test_an_agent_that_talks_on_stops_at_its_end() -> None:
    one = tape(cut(6.0, 6.5))
    hear(one, 5.0, tone(4.0))
    (figures,) = measure(one).cut_ins
    assert figures.stopped == pytest.approx(9.0, abs=0.001)
    assert not figures.resumed


def test_a_cut_in_into_silence() -> None:
    one = tape(cut(6.0, 6.5))
    hear(one, 1.0, tone(1.0))
    hear(one, 7.0, tone(1.0))
    (figures,) = measure(one).cut_ins
    assert (figures.stopped, figures.stop_delay, figures.heard_of_reply) == (None, None, 0.0)
    assert figures.response == pytest.approx(0.5, abs=0.001)


def test_gaps_in_speech_are_missing_frames_and_pauses_are_not() -> None:
    one = tape(say(10.0, 11.0))
    hear(one, 1.0, tone(1.0))
    hear(one, 2.03, tone(1.0))  # a gap of 30 ms: a frame and a half
    hear(one, 3.5, tone(1.0))  # another utterance
    hear(one, 9.5, tone(0.52))
    hear(one, 10.1, tone(0.5))  # the caller was talking: a reaction, not a fault
    assert measure(one).missing_or_late_frames == 2


@pytest.mark.parametrize(("following", "missing"), [("u1", 1), ("u2", 0)])
def test_an_answer_that_begins_as_the_last_is_over_leaves_no_gap(
    following: str, missing: int
) -> None:
    one = tape(say(10.0, 11.0))
    hear(one, 1.0, tone(1.0))
    hear(one, 2.001, tone(1.0))
    one.marks += [(at(2.0), "g1:u1:8000"), (at(2.021), f"g1:{following}:160")]
    assert measure(one).missing_or_late_frames == missing


def test_nothing_at_all() -> None:
    figures = measure(tape(end=0.0))
    assert figures.turns == ()
    assert figures.late_p99 == 0


def test_lateness_is_against_the_streams_own_schedule() -> None:
    burst = [(1.0, 160)] * 6
    steady = [(1.0 + n * 0.02, 160) for n in range(1, 50)]
    assert max(lateness(burst + steady, 8000)) == pytest.approx(0, abs=1e-9)
    late = [(when + (0.007 if n == 20 else 0), size) for n, (when, size) in enumerate(steady)]
    found = lateness(burst + late, 8000)
    assert found[26] == pytest.approx(0.007)
    assert sum(found > 1e-6) == 1


def test_a_pause_begins_a_new_schedule() -> None:
    one = [(n * 0.02, 160) for n in range(10)]
    two = [(5.013 + n * 0.02, 160) for n in range(10)]
    assert max(lateness(one + two, 8000)) == pytest.approx(0, abs=1e-9)
    assert lateness_p99(one + two, 8000) == pytest.approx(0, abs=1e-9)


def test_names_of_marks() -> None:
    assert same_speech("g1:u2:3", "g7:u2:9") is True
    assert same_speech("g1:u2:3", "g1:u3:9") is False
    assert same_speech("hello", "g1:u3:9") is None
