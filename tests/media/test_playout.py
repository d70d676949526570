"""The heard-ledger, by example and against a far side that really plays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from media.codec import WireForm, wire_form
from media.playout import (
    Began,
    Dry,
    Finished,
    Mark,
    Playout,
    Position,
    Stalled,
)
from tests.media.far_end import TICK, FarEnd

PCMU = wire_form("pcmu", 8000)
FRAME = 160
LEAD = 800


def ramp(samples: int, first: int = 0, form: WireForm = PCMU) -> bytes:
    """Sound in which every place can be told from its neighbours (period 251 samples)."""
    codes = (np.arange(first, first + samples) % 251).astype(np.uint8)
    return np.repeat(codes, form.bytes_per_sample).tobytes()


def new(**options: object) -> Playout:
    settings_ = {"lead": LEAD, "latency": 0.0} | options
    return Playout(PCMU, **settings_)  # type: ignore[arg-type]


class TestMark:
    @given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
    def test_name_and_parse_are_inverse(self, generation: int, utterance: int, end: int) -> None:
        mark = Mark(generation, utterance, end)
        assert Mark.parse(mark.name()) == mark

    def test_it_reads_as_documented(self) -> None:
        assert Mark(3, 7, 1600).name() == "g3:u7:1600"

    @pytest.mark.parametrize(
        "name", ["", "g1:u2", "g1:u2:x", "g1:2:3", "g-1:u2:3", "g1:u2:3:4", "g1:u2:²", "g:u:1"]
    )
    def test_anything_else_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="not a mark"):
            Mark.parse(name)


class TestPace:
    def test_the_lead_and_a_frame_leave_at_once_then_one_a_tick(self) -> None:
        playout = new()
        playout.push(1, ramp(8000))
        counts = [len(playout.pull(5.0 + number * TICK)) for number in range(20)]
        assert counts == [LEAD // FRAME + 1] + [1] * 19

    @given(st.lists(st.floats(-0.004, 0.004), min_size=50, max_size=50), st.sampled_from([0, 800]))
    def test_ticks_that_come_early_or_late_still_take_one_frame_each(
        self, wobble: list[float], lead: int
    ) -> None:
        playout = new(lead=lead, basis="sent")
        playout.push(1, ramp(16000))
        counts = [len(playout.pull(1 + n * TICK + late)) for n, late in enumerate(wobble)]
        assert counts == [lead // FRAME + 1] + [1] * 49

    def test_after_a_late_tick_the_lead_is_restored(self) -> None:
        playout = new()
        playout.push(1, ramp(16000))
        playout.pull(1.0)
        assert len(playout.pull(1.08)) == 4

    def test_chunks_say_where_they_belong(self) -> None:
        playout = new(lead=0)
        playout.push(4, ramp(400))
        playout.end(4)
        chunks = [chunk for n in range(5) for chunk in playout.pull(n * TICK)]
        assert [(one.start, one.end, one.last) for one in chunks] == [
            (0, 160, False),
            (160, 320, False),
            (320, 400, True),
        ]
        assert b"".join(one.payload for one in chunks) == ramp(400) + PCMU.silence(80)
        assert chunks[1].mark == Mark(1, 4, 320)

    def test_part_of_a_frame_waits_for_more_or_for_the_end(self) -> None:
        playout = new()
        playout.push(1, ramp(200))
        assert len(playout.pull(0.0)) == 1
        assert playout.pull(0.02) == []
        assert playout.waiting == 40
        playout.end(1)
        assert [one.end for one in playout.pull(0.04)] == [200]
        assert playout.waiting == 0

    def test_utterances_play_in_order_of_first_push_each_from_a_fresh_frame(self) -> None:
        playout = new()
        playout.push(2, ramp(100))
        playout.push(1, ramp(160))
        playout.end(1)
        playout.end(2)
        assert [(one.utterance, one.end) for one in playout.pull(0.0)] == [(2, 100), (1, 160)]

    def test_a_later_utterance_waits_until_the_one_before_has_ended(self) -> None:
        playout = new()
        playout.push(1, ramp(160))
        playout.push(2, ramp(160))
        assert [one.utterance for one in playout.pull(0.0)] == [1]
        playout.end(1)
        assert [one.utterance for one in playout.pull(0.02)] == [2]

    def test_a_part_of_a_sample_is_refused(self) -> None:
        playout = Playout(wire_form("l16", 16000), lead=0)
        with pytest.raises(ValueError, match="2-byte"):
            playout.push(1, b"abc")


class TestEvents:
    def test_a_short_utterance_begins_finishes_and_the_line_is_dry(self) -> None:
        playout = new()
        far = FarEnd(playout, 0.03, 0.03)
        playout.push(1, ramp(1600))
        playout.end(1)
        events = far.run(2.0, 40)
        assert [type(one) for one in events] == [Began, Finished, Dry]
        began, finished = events[0], events[1]
        assert isinstance(began, Began)
        assert began.when == pytest.approx(2.03, abs=0.001)
        assert isinstance(finished, Finished)
        assert finished.position == Position(1, 1600, 1600, 1600, 0, "acknowledged", finished=True)

    def test_without_marks_the_model_is_believed_after_a_grace(self) -> None:
        playout = new()
        far = FarEnd(playout)
        far.marks = False
        playout.push(1, ramp(1600))
        playout.end(1)
        events: list[object] = []
        times: list[float] = []
        for number in range(60):
            for event in far.tick(number * TICK):
                events.append(type(event))
                times.append(number * TICK)
        assert events == [Began, Finished, Dry]
        assert times == pytest.approx([0.26, 0.7, 0.7], abs=0.021)

    def test_a_line_without_marks_finishes_by_the_latency(self) -> None:
        playout = new(lead=0, basis="sent")
        playout.set_latency(0.1)
        far = FarEnd(playout)
        far.marks = False
        playout.push(1, ramp(320))
        playout.end(1)
        events = far.run(0.0, 20)
        assert events[0] == Began(1, pytest.approx(0.1))
        assert isinstance(events[1], Finished)
        assert events[2:] == [Dry()]

    def test_a_pause_in_the_stream_is_an_underrun_and_neither_dry_nor_a_stall(self) -> None:
        playout = new()
        far = FarEnd(playout)
        playout.push(1, ramp(320))
        first = far.run(0.0, 50)
        assert [type(one) for one in first] == [Began]
        playout.push(1, ramp(320, 320))
        playout.end(1)
        rest = far.run(1.0, 10)
        assert [type(one) for one in rest] == [Finished, Dry]
        assert playout.underruns == 1
        assert bytes(far.heard[1]) == ramp(640)

    def test_an_utterance_whose_end_becomes_known_late_finishes_then(self) -> None:
        playout = new()
        far = FarEnd(playout)
        playout.push(1, ramp(320))
        far.run(0.0, 20)
        playout.end(1)
        assert [type(one) for one in far.run(0.4, 1)] == [Finished, Dry]

    def test_an_empty_utterance_finishes_at_once(self) -> None:
        playout = new()
        playout.end(9)
        events = playout.poll(3.0)
        assert events == [
            Finished(Position(9, 0, 0, 0, 0, "acknowledged", finished=True)),
            Dry(),
        ]
        assert playout.poll(3.02) == []

    def test_sound_that_waits_and_does_not_leave_is_a_stall_once(self) -> None:
        playout = new()
        playout.push(1, ramp(1600))
        events = [one for n in range(80) for one in playout.poll(n * TICK)]
        assert [type(one) for one in events] == [Stalled]
        assert isinstance(events[0], Stalled)
        assert events[0].seconds == pytest.approx(0.52)

    def test_a_later_utterance_stuck_behind_one_never_ended_is_a_stall(self) -> None:
        playout = new()
        far = FarEnd(playout)
        playout.push(1, ramp(160))
        playout.push(2, ramp(160))
        assert Stalled in [type(one) for one in far.run(0.0, 40)]

    def test_holding_is_no_stall(self) -> None:
        playout = new()
        far = FarEnd(playout)
        playout.push(1, ramp(16000))
        far.run(0.0, 10)
        playout.hold("caller")
        assert far.run(0.2, 100) == []
        playout.resume("caller")
        assert far.run(2.2, 10) == []
        assert playout.underruns == 0

    def test_the_deadline_leads_from_event_to_event(self) -> None:
        playout = new(lead=0, basis="sent", latency=0.05)
        assert playout.deadline is None
        playout.push(1, ramp(160))
        playout.end(1)
        playout.pull(0.0)
        playout.poll(0.0)
        assert playout.deadline == pytest.approx(0.05)
        assert playout.poll(0.051) == [Began(1, pytest.approx(0.05))]
        assert playout.deadline == pytest.approx(0.07)
        assert [type(one) for one in playout.poll(0.0701)] == [Finished, Dry]
        assert playout.deadline is None


class TestInterrupting:
    def test_a_flush_says_what_was_heard_of_each_and_voids_the_rest(self) -> None:
        playout = new()
        far = FarEnd(playout)
        playout.push(1, ramp(8000))
        playout.end(1)
        playout.push(2, ramp(4000))
        far.run(0.0, 10)
        far.deliver(0.21)
        positions = playout.flush(0.21)
        far.clear(0.21)
        assert [(one.utterance, one.queued, one.heard) for one in positions] == [
            (1, 8000, 1680),
            (2, 4000, 0),
        ]
        assert len(far.heard[1]) == 1680
        assert playout.generation == 2
        assert playout.waiting == 0
        playout.push(1, ramp(160))  # late sound of what was cut
        assert far.run(0.22, 50) == []
        assert playout.heard(1, 1.3) == positions[0]

    def test_marks_that_a_clear_sends_back_were_not_heard(self) -> None:
        playout = new()
        far = FarEnd(playout)
        playout.push(1, ramp(8000))
        far.run(0.0, 5)
        playout.rewind(0.1)
        far.clear(0.1)
        before = playout.heard(1, 0.1)
        far.deliver(0.1)
        assert playout.heard(1, 0.1) == before
        assert before.heard == 800
        assert before.sent == 800

    def test_a_resumed_utterance_goes_on_at_the_first_unheard_sample(self) -> None:
        playout = new()
        far = FarEnd(playout)
        playout.push(1, ramp(4000))
        playout.end(1)
        far.run(0.0, 8)
        playout.hold("caller")
        playout.rewind(0.15)
        far.clear(0.15)
        far.run(0.16, 20)
        assert len(far.heard[1]) == 1200
        playout.resume("caller")
        events = far.run(0.56, 40)
        assert [type(one) for one in events] == [Finished, Dry]
        assert bytes(far.heard[1]) == ramp(4000)

    def test_ducking_fades_in_steps_and_resuming_gives_full_level_of_the_same_sound(self) -> None:
        tone = PCMU.encode(np.full(1600, 16000, dtype="<i2").tobytes())
        playout = new(lead=0)
        playout.push(1, tone)
        playout.duck(-12.0)
        levels = []
        for number in range(6):
            if number == 3:
                playout.resume("caller")
            (chunk,) = playout.pull(number * TICK)
            levels.append(int(np.frombuffer(PCMU.decode(chunk.payload), "<i2")[0]))
        wanted = [16000 * 10 ** (db / 20) for db in (-6, -12, -12, -6, 0, 0)]
        assert levels == pytest.approx(wanted, rel=0.04)

    def test_rewound_sound_is_not_ducked_twice(self) -> None:
        playout = new()
        playout.push(1, ramp(960))
        playout.duck(-6.0)
        ducked = playout.pull(0.0)
        playout.rewind(0.0)
        playout.resume("caller")
        playout.duck(0.0)
        again = playout.pull(0.02)
        assert b"".join(one.payload for one in again[1:]) == ramp(800, 160)
        assert again[2].payload != ducked[2].payload

    def test_what_cannot_be_cleared_will_be_heard(self) -> None:
        playout = new(lead=0, basis="sent", latency=0.1)
        playout.push(1, ramp(8000))
        for number in range(10):
            playout.pull(number * TICK)
        playout.rewind(0.2)
        assert playout.waiting == 8000 - 1600
        (position,) = playout.flush(0.2)
        assert position.heard == position.sent == 1600

    def test_a_flush_brings_back_full_level_and_flow(self) -> None:
        playout = new()
        playout.push(1, ramp(8000))
        playout.duck(-20)
        playout.hold("caller")
        playout.flush(1.0)
        playout.push(2, ramp(960))
        assert b"".join(one.payload for one in playout.pull(1.0)) == ramp(960)


class TestReports:
    def test_a_report_corrects_the_model_and_its_error(self) -> None:
        playout = new(lead=0, latency=0.05)
        playout.push(1, ramp(8000))
        for number in range(25):
            playout.pull(number * TICK)
        playout.report(1, 2400, 0.48, 80)
        position = playout.heard(1, 0.5)
        # what was played since the report nobody has proved
        assert (position.heard, position.error) == (2560, 2560 - (2400 - 80))

    def test_a_report_of_more_than_was_sent_is_capped(self) -> None:
        playout = new(lead=0)
        playout.push(1, ramp(8000))
        playout.pull(0.0)
        playout.report(1, 5000, 0.02, 80)
        assert playout.heard(1, 0.02).heard == 160

    def test_reports_on_what_is_gone_change_nothing(self) -> None:
        playout = new()
        playout.report(5, 100, 0.0, 0)
        assert playout.heard(5, 0.0) == Position(5, 0, 0, 0, 0, "acknowledged")


# --- against a far side that really plays --------------------------------------------------------


@settings(max_examples=150)
@given(st.data())
def test_nothing_is_lost_or_repeated_whatever_is_held_rewound_and_resumed(
    data: st.DataObject,
) -> None:
    delay = data.draw(st.sampled_from([0.0, 0.005, 0.04, 0.15]), "delay")
    playout = new(latency=delay, lead=data.draw(st.sampled_from([160, 800, 1600])))
    far = FarEnd(playout, delay, delay)
    pushed: dict[int, bytearray] = {}
    ended: set[int] = set()
    now = clock = 0.0
    actions = st.sampled_from(["push", "push", "end", "go", "go", "hold", "clear", "resume"])
    for action in data.draw(st.lists(actions, max_size=30), "actions"):
        current = len(ended) + 1
        match action:
            case "push":
                sound = pushed.setdefault(current, bytearray())
                piece = ramp(data.draw(st.integers(0, 3000)), len(sound))
                sound += piece
                playout.push(current, piece)
            case "end":
                playout.end(current)
                ended.add(current)
            case "go":
                ticks = data.draw(st.integers(1, 30))
                far.run(now, ticks)
                now = round(now + ticks * TICK, 6)
                clock = now - TICK
            case "hold":
                playout.hold("caller")
            case "clear":
                # between two ticks, on a whole millisecond
                room = round((now - clock) * 1000)
                clock = round(clock + data.draw(st.integers(0, room)) / 1000, 6)
                far.deliver(clock)
                playout.hold("caller")
                playout.rewind(clock)
                far.clear(clock)
            case "resume":
                playout.resume("caller")
        assert playout.waiting + sum(playout.heard(one, clock).sent for one in pushed) == sum(
            len(sound) for sound in pushed.values()
        )
    playout.resume("caller")
    playout.end(len(ended) + 1)
    total = sum(len(sound) for sound in pushed.values())
    far.run(now, 40 + total // FRAME + len(pushed) + 60)
    for utterance, sound in pushed.items():
        assert bytes(far.heard.get(utterance, b"")) == bytes(sound)
        assert playout.heard(utterance, now).heard == len(sound)


@settings(max_examples=100)
@given(
    forward=st.floats(0, 0.15),
    back=st.floats(0, 0.15),
    jitter=st.lists(st.floats(0, 0.01), min_size=1, max_size=40),
    lead=st.sampled_from([320, 800]),
    assumed=st.floats(0, 0.1),
)
def test_the_heard_figure_is_right_within_its_error_and_never_goes_back(
    forward: float, back: float, jitter: list[float], lead: int, assumed: float
) -> None:
    playout = new(lead=lead, latency=assumed)
    far = FarEnd(playout)
    forwards, backs = iter(jitter * 1000), iter(jitter[::-1] * 1000)
    far.forward = lambda: forward + next(forwards)
    far.back = lambda: back + next(backs)
    playout.push(1, ramp(12000))
    playout.end(1)
    last = 0
    for number in range(130):
        now = round(number * TICK, 6)
        far.tick(now)
        for part in (0.003, 0.011):
            far.deliver(now + part)
            position = playout.heard(1, now + part)
            assert last <= position.heard <= position.sent <= position.queued
            assert abs(position.heard - far.truth(1, now + part)) <= position.error
            last = position.heard
    assert last == 12000


@settings(max_examples=60)
@given(
    forward=st.floats(0, 0.15),
    back=st.floats(0, 0.15),
    jitter=st.lists(st.floats(0, 0.01), min_size=1, max_size=40),
    moment=st.integers(0, 1500),
)
def test_what_a_flush_says_is_right_within_its_error(
    forward: float, back: float, jitter: list[float], moment: int
) -> None:
    playout = new(latency=0.05)
    far = FarEnd(playout)
    forwards, backs = iter(jitter * 1000), iter(jitter[::-1] * 1000)
    far.forward = lambda: forward + next(forwards)
    far.back = lambda: back + next(backs)
    playout.push(1, ramp(12000))
    now = moment / 1000
    far.run(0.0, moment // 20 + 1)
    far.deliver(now)
    (position,) = playout.flush(now)
    far.clear(now)
    truth = len(far.heard.get(1, b""))
    assert position.heard <= position.sent <= position.queued
    assert abs(position.heard - truth) <= position.error


@given(
    stale=st.lists(
        st.builds(Mark, st.integers(0, 9), st.integers(0, 3), st.integers(0, 20000)), max_size=20
    )
)
def test_marks_of_other_generations_or_of_sound_never_sent_change_nothing(
    stale: list[Mark],
) -> None:
    playout = new()
    far = FarEnd(playout)
    playout.push(1, ramp(8000))
    far.run(0.0, 10)
    far.deliver(0.21)
    before = playout.heard(1, 0.21)
    for mark in stale:
        if mark.generation != 1 or mark.utterance != 1 or mark.end > before.sent:
            playout.acknowledge(mark, 0.21)
    assert playout.heard(1, 0.21) == before


def test_a_far_side_that_hangs_shows_in_the_error() -> None:
    playout = new()
    far = FarEnd(playout, 0.02, 0.02)
    playout.push(1, ramp(8000))
    far.run(0.0, 20)
    far.over += 10.0
    far.pieces = [(begins + 10.0, chunk) for begins, chunk in far.pieces]
    for number in range(20, 40):
        far.tick(number * TICK)
        now = number * TICK + 0.001
        position = playout.heard(1, now)
        # a mark that is missing can only be missed after the time it takes to come
        slack = 2 * 0.02 * 8000 + FRAME
        assert abs(position.heard - far.truth(1, now)) <= position.error + slack


def test_memory_stays_bounded_over_a_long_utterance_without_marks() -> None:
    playout = new(lead=0, basis="estimated")
    for number in range(3000):
        playout.push(1, ramp(160, number * 160))
        playout.pull(number * TICK)
        playout.poll(number * TICK)
    kept = playout._far._flights
    assert len(kept) <= 160


def test_many_utterances_are_forgotten_but_never_played_again() -> None:
    playout = new()
    far = FarEnd(playout)
    for number in range(200):
        playout.push(number + 1, ramp(160))
        playout.end(number + 1)
    far.run(0.0, 250)
    assert playout.heard(1, 5.0).queued == 0
    playout.push(1, ramp(160))
    assert playout.pull(6.0) == []
