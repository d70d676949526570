"""The jitter buffer against scripted networks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from media.arrivals import extend
from media.jitter import LONGEST_LAG, LONGEST_TARGET, JitterBuffer, Lost, Nothing, Packet
from tests.media.network import BASE, FRAME, LOST, TICK, Listener, play

# Repeatable unevenness, 0 to 1, in no pattern that a buffer could learn.
UNEVEN = [((n * 7919 + 104729) % 997) / 996 for n in range(2000)]


def jittery(count: int, spread: float, start: int = 0) -> list[float]:
    return [spread * UNEVEN[(start + n) % len(UNEVEN)] for n in range(count)]


def losses(count: int, share: float) -> list[float | None]:
    """A list in which the given share of packets is lost, singly and in pairs, but no end."""
    inside = [LOST if UNEVEN[n * 3 % 2000] < share else 0.0 for n in range(count - 2)]
    return [0.0, *inside, 0.0]


class TestCalm:
    def test_a_calm_network_is_heard_whole_at_the_least_depth(self) -> None:
        listener = play([0.0] * 200)
        assert listener.packets == list(range(200))
        # It ends by running dry.
        assert listener.count(Lost) <= 6
        assert listener.deepest(1, 3) <= 0.045

    @given(st.floats(0, 0.0199))
    def test_where_ticks_fall_between_packets_makes_no_difference(self, phase: float) -> None:
        listener = play([0.0] * 100, phase=phase)
        assert listener.packets == list(range(100))
        assert 0.019 <= listener.deepest(1, 1.9) <= 0.061

    @pytest.mark.parametrize("first", [65500, 65535, (1 << 32) // FRAME - 20, 131000])
    def test_numbers_that_wrap_go_on(self, first: int) -> None:
        listener = play([0.0] * 120, first=first)
        assert listener.packets == list(range(120))
        assert listener.buffer.counts.lost == 0

    @given(st.integers(0, 1 << 20), st.integers(-30000, 30000))
    def test_extending_finds_the_number_near_the_last(self, near: int, step: int) -> None:
        assert extend((near + step) & 0xFFFF, near, 16) == near + step


class TestDisorder:
    def test_swapped_packets_are_put_right(self) -> None:
        delays = [0.0] * 100
        for at in (20, 40, 60):
            delays[at] = 0.025
        listener = play(delays)
        assert listener.packets == list(range(100))

    def test_a_duplicate_is_heard_once(self) -> None:
        buffer = JitterBuffer(8000)
        listener = Listener(buffer)
        for number in range(50):
            for copy in range(1 + number % 3):
                new = buffer.push(number, number * FRAME, b"%d" % number, number * TICK)
                assert new == (copy == 0)
            listener.tick(number * TICK + 0.001)
        for _ in range(3):
            listener.tick(1.0)
        assert listener.packets == list(range(50))
        assert buffer.counts.received == sum(1 + number % 3 for number in range(50))

    def test_lost_packets_are_concealed_in_their_place(self) -> None:
        delays: list[float | None] = [0.0] * 100
        delays[30] = delays[50] = delays[51] = LOST
        listener = play(delays)
        order = [
            int(one.payload) if isinstance(one, Packet) else None
            for one in listener.heard
            if not isinstance(one, Nothing)
        ]
        wanted = [None if number in (30, 50, 51) else number for number in range(100)]
        assert order[:100] == wanted
        assert listener.buffer.counts.lost == 3

    def test_a_late_packet_is_not_heard_after_its_place(self) -> None:
        delays = [0.0] * 100
        delays[30] = 0.09
        listener = play(delays)
        assert listener.packets == [number for number in range(100) if number != 30]
        assert listener.buffer.counts.late == 1

    @given(
        st.lists(
            st.one_of(st.none(), st.floats(0, 0.45), st.just(0.0), st.just(0.0)),
            min_size=1,
            max_size=120,
        ),
        st.floats(0, 0.0199),
        st.integers(0, 65535),
    )
    def test_whatever_happens_packets_are_heard_once_and_in_order(
        self, delays: list[float | None], phase: float, first: int
    ) -> None:
        listener = play(delays, first=first, phase=phase, after=1.5)
        heard = listener.packets
        assert heard == sorted(set(heard))
        counts = listener.buffer.counts
        assert counts.received == sum(one is not None for one in delays)
        assert len(heard) + counts.late + listener.buffer.waiting == counts.received
        assert listener.buffer.waiting == 0
        assert all(0 <= depth <= LONGEST_LAG + 0.2 for _, depth in listener.depths)
        assert all(0 < one.samples <= FRAME for one in listener.heard)


class TestDisturbance:
    @pytest.mark.parametrize("spread", [0.03, 0.06, 0.12, 0.18])
    def test_depth_follows_jitter_and_returns_within_two_seconds(self, spread: float) -> None:
        delays = [0.0] * 100 + jittery(200, spread) + [0.0] * 200
        listener = play(delays)
        calm = listener.deepest(1, 1.9)
        assert listener.deepest(4, 6) >= spread * 0.8
        assert listener.deepest(8.0, 9.9) <= calm + TICK
        # What is missed while the buffer learns is a small part, and nothing afterwards.
        assert len(listener.packets) >= 500 - 20
        assert listener.packets[-250:] == list(range(250, 500))

    @pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
    def test_loss_alone_adds_no_delay(self, share: float) -> None:
        delays = losses(500, share)
        listener = play(delays)
        sent = [number for number, delay in enumerate(delays) if delay is not None]
        assert listener.packets == sent
        assert listener.deepest(0, 9.9) <= 0.02 + 3 * TICK
        missing = len(delays) - len(sent)
        assert missing > 0
        assert listener.buffer.counts.lost == missing
        assert missing <= listener.count(Lost) <= missing * 1.5 + 6

    def test_loss_jitter_and_disorder_together_leave_no_lasting_delay(self) -> None:
        noisy = [
            LOST if lost is None else delay
            for lost, delay in zip(losses(300, 0.1), jittery(300, 0.06), strict=True)
        ]
        listener = play([0.0] * 100 + noisy + [0.0] * 200)
        assert listener.deepest(8 + 2, 11.9) <= listener.deepest(1, 1.9) + TICK
        received = sum(one is not None for one in noisy) + 300
        assert len(listener.packets) >= 0.97 * received

    @pytest.mark.parametrize("seconds", [0.1, 0.2, 0.3, 0.4])
    def test_a_hiccup_loses_no_packet_and_is_caught_up_with(self, seconds: float) -> None:
        held = round(seconds / TICK)
        delays = [0.0] * 100 + [(held - n) * TICK for n in range(held)] + [0.0] * 200
        listener = play(delays)
        assert listener.packets == list(range(len(delays)))
        end = (100 + held) * TICK + BASE
        assert listener.deepest(end + 2, end + 3.5) <= listener.deepest(1, 1.9) + TICK

    def test_a_longer_hiccup_is_not_played_in_full_and_the_buffer_stays_small(self) -> None:
        held = 100
        delays = [0.0] * 100 + [(held - n) * TICK for n in range(held)] + [0.0] * 200
        listener = play(delays)
        assert listener.packets[-200:] == list(range(200, 400))
        assert listener.buffer.counts.late >= 70
        assert listener.deepest(4 + 2.1, 7.5) <= listener.deepest(1, 1.9) + TICK

    def test_a_route_that_became_longer_for_good_is_followed(self) -> None:
        listener = play([0.0] * 100 + [0.15] * 300)
        late = listener.packets[-200:]
        assert late == list(range(200, 400))
        # After the old route is forgotten the depth is measured against the new one.
        assert listener.deepest(6.5, 7.9) <= 0.061

    def test_the_target_is_bounded(self) -> None:
        buffer = JitterBuffer(8000)
        play(jittery(200, 0.45), buffer)
        assert buffer.target == LONGEST_TARGET

    @pytest.mark.parametrize("drift", [-0.0002, 0.0002])
    def test_a_clock_that_runs_off_is_followed(self, drift: float) -> None:
        listener = play([0.2 + drift * n * TICK for n in range(3000)], after=0.2)
        assert len(listener.packets) >= 2995
        assert listener.deepest(30, 59) <= 0.065


class TestPauses:
    def talk(self, buffer: JitterBuffer, numbers: range, stamp: int, start: float) -> None:
        for step, number in enumerate(numbers):
            arrival = start + step * TICK
            buffer.push(number, stamp + step * FRAME, b"%d" % number, arrival)

    def test_a_pause_in_sending_is_silence_and_not_loss(self) -> None:
        buffer = JitterBuffer(8000)
        listener = Listener(buffer)
        self.talk(buffer, range(20), 0, 0.0)
        buffer.push(20, 20 * FRAME, b"", 0.4, 0)  # comfort noise: the speech is over
        for tick in range(60):
            listener.tick(0.03 + tick * TICK)
            if tick == 50:
                self.talk(buffer, range(21, 31), 50 * FRAME, 1.0)
        for tick in range(60, 80):
            listener.tick(0.03 + tick * TICK)
        assert listener.packets == [*range(20), *range(21, 31)]
        # only the end of the second stretch, which nothing announced, was taken for loss
        assert listener.count(Lost) <= 6
        assert buffer.counts.lost == 0

    def test_a_short_pause_keeps_its_length(self) -> None:
        buffer = JitterBuffer(8000)
        listener = Listener(buffer)
        self.talk(buffer, range(10), 0, 0.0)
        self.talk(buffer, range(10, 20), 13 * FRAME, 0.26)
        for tick in range(30):
            listener.tick(0.3 + tick * TICK)
        between = [one for one in listener.heard if not isinstance(one, Packet)][:3]
        assert [type(one) for one in between] == [Nothing] * 3
        assert listener.packets == list(range(20))

    def test_packets_without_sound_count_but_are_not_heard(self) -> None:
        buffer = JitterBuffer(8000)
        listener = Listener(buffer)
        for number in range(60):
            keys = 20 <= number < 30
            stamp = (20 if keys else number) * FRAME
            buffer.push(
                number, stamp, b"" if keys else b"%d" % number, number * TICK, 0 if keys else None
            )
            listener.tick(number * TICK + 0.005)
        for tick in range(60, 64):
            listener.tick(tick * TICK + 0.005)
        assert listener.packets == [*range(20), *range(30, 60)]
        assert buffer.counts.lost == 0

    def test_a_sender_that_starts_anew_is_followed_from_its_second_packet(self) -> None:
        buffer = JitterBuffer(8000)
        listener = Listener(buffer)
        self.talk(buffer, range(20), 0, 0.0)
        for tick in range(25):
            listener.tick(0.03 + tick * TICK)
        for step in range(20):
            number, stamp = 40000 + step, 777 + step * FRAME
            buffer.push(number, stamp, b"%d" % number, 0.6 + step * TICK)
            listener.tick(0.61 + step * TICK)
        for tick in range(10):
            listener.tick(1.01 + tick * TICK)
        assert listener.packets == [*range(20), *range(40001, 40020)]
        assert buffer.counts.expected == 20 + 19

    @pytest.mark.parametrize("back", [102, 1000, 3000, 20000])
    def test_a_sender_that_goes_back_far_is_followed_from_its_second_packet(
        self, back: int
    ) -> None:
        buffer = JitterBuffer(8000)
        listener = Listener(buffer)
        for step in range(40):
            number = 30000 + step - (back if step >= 20 else 0)
            buffer.push(number, step * FRAME, b"%d" % step, step * TICK)
            listener.tick(0.01 + step * TICK)
        for tick in range(40, 50):
            listener.tick(0.01 + tick * TICK)
        assert listener.packets == [*range(20), *range(21, 40)]

    def test_packets_up_to_a_hundred_late_keep_their_place_in_the_count(self) -> None:
        buffer = JitterBuffer(8000)
        self.talk(buffer, range(100, 200), 0, 0.0)
        for number in (110, 111, 112):
            assert not buffer.push(number, number * FRAME, b"", 4.0)
        assert buffer.counts.expected == 100
        assert buffer.push(200, 200 * FRAME, b"200", 4.0)

    def test_sound_made_up_where_none_was_missing_is_counted(self) -> None:
        """A tick of ours came late, asked for five at once, and the packets came right after."""
        calm, late = JitterBuffer(8000), JitterBuffer(8000)
        for buffer in (calm, late):
            listener = Listener(buffer)
            for step in range(100):
                buffer.push(step, step * FRAME, b"%d" % step, step * TICK)
                for _ in range(9 if buffer is late and step % 20 == 19 else 1):
                    listener.tick(0.01 + step * TICK)
        assert calm.counts.stretched == 0
        assert 15 <= late.counts.stretched <= 30

    def test_a_pause_that_the_sender_made_is_no_stretching(self) -> None:
        buffer = JitterBuffer(8000)
        listener = Listener(buffer)
        for step in range(100):
            if step < 20 or step >= 60:
                number = step if step < 20 else step - 40
                buffer.push(number, step * FRAME, b"%d" % step, step * TICK)
            listener.tick(0.01 + step * TICK)
        assert buffer.counts.stretched == 0

    def test_a_stray_packet_changes_nothing(self) -> None:
        buffer = JitterBuffer(8000)
        self.talk(buffer, range(20), 0, 0.0)
        assert not buffer.push(30000, 0, b"x", 0.4)
        assert buffer.push(20, 20 * FRAME, b"20", 0.4)

    def test_a_sender_that_goes_on_with_other_timestamps_is_followed(self) -> None:
        buffer = JitterBuffer(8000)
        listener = Listener(buffer)
        self.talk(buffer, range(20), 0, 0.0)
        for tick in range(25):
            listener.tick(0.03 + tick * TICK)
        self.talk(buffer, range(20, 40), 10_000_000, 0.5)
        for tick in range(25):
            listener.tick(0.55 + tick * TICK)
        assert listener.packets == list(range(40))

    def test_with_nothing_sent_there_is_nothing(self) -> None:
        buffer = JitterBuffer(8000)
        assert buffer.pull(0.0) == Nothing(FRAME)
        assert buffer.push(1, 0, b"", 0.0, 0)
        assert buffer.pull(0.02) == Nothing(FRAME)
        assert buffer.depth(0.02) == 0.0


def test_jitter_is_that_of_rfc_3550() -> None:
    delays = jittery(100, 0.04)
    wanted, last = 0.0, delays[0]
    buffer = JitterBuffer(8000)
    for number, delay in enumerate(delays):
        buffer.push(number, number * FRAME, b"", 5 + number * TICK + delay, FRAME)
        wanted += (abs(delay - last) * 8000 - wanted) / 16
        last = delay
    assert buffer.counts.jitter == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("packet", [80, 240, 320, 480])
def test_packets_of_any_length_are_heard_whole(packet: int) -> None:
    buffer = JitterBuffer(8000)
    heard: list[int] = []
    ready, at = 0, 0
    for tick in range(200):
        now = tick * TICK + 0.003
        while at * packet / 8000 <= now and at < 50:
            buffer.push(at, at * packet, b"%d" % at, at * packet / 8000, packet)
            at += 1
        while ready < FRAME:
            piece = buffer.pull(now)
            ready += piece.samples
            if isinstance(piece, Packet):
                heard.append(int(piece.payload))
        ready -= FRAME
    assert heard == list(range(50))
