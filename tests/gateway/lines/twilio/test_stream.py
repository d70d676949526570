"""The stream machine: positions, order, and what ends a stream."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.twilio import stream, wire
from gateway.lines.twilio.stream import (
    Echoed,
    Heard,
    MediaStream,
    Noted,
    Opened,
    Outcome,
    Pressed,
    Refused,
    Stopped,
)

MULAW = wire.MediaFormat("audio/x-mulaw", 8000, 1)
DETAIL = wire.StartDetail("MZ1", "CA1", MULAW, "AC1", ("inbound",))
START = wire.Start(DETAIL, 1)
NOW = 1000.0


def opened() -> MediaStream:
    machine = MediaStream(NOW + 5)
    assert machine.handle(wire.Connected(), NOW) == []
    outcomes = machine.handle(START, NOW)
    assert isinstance(outcomes[0], Opened)
    assert machine.deadline is None
    return machine


def media(
    timestamp_ms: int, sequence: int = 0, size: int = 160, track: str = "inbound"
) -> wire.Media:
    return wire.Media(wire.MediaDetail(b"\xff" * size, timestamp_ms, track), "MZ1", sequence)


def positions(machine: MediaStream, stamps: list[int], origin_ms: int = 0) -> list[int]:
    """Feed frames with these timestamps, each when it is due, and give their positions."""
    outcomes = [
        outcome
        for stamp in stamps
        for outcome in machine.handle(media(origin_ms + stamp), NOW + max(0, stamp) / 1000)
    ]
    return [outcome.frame.start for outcome in outcomes if isinstance(outcome, Heard)]


def test_sound_is_decoded_once_and_its_payload_kept() -> None:
    (heard,) = opened().handle(media(0, 2), NOW)
    assert isinstance(heard, Heard)
    assert heard.frame.pcm == bytes(320)
    assert (heard.frame.payload, heard.frame.codec) == (b"\xff" * 160, "pcmu")


def test_positions_follow_the_timestamps() -> None:
    assert positions(opened(), [5, 25, 45]) == [40, 200, 360]


def test_a_missing_frame_is_a_jump() -> None:
    assert positions(opened(), [0, 20, 60, 80]) == [0, 160, 480, 640]


def test_a_silent_caller_is_a_long_jump() -> None:
    assert positions(opened(), [0, 20, 5020]) == [0, 160, 40160]


def test_jitter_of_timestamps_moves_nothing() -> None:
    assert positions(opened(), [0, 27, 38, 63, 81]) == [0, 160, 320, 480, 640]


def test_timestamps_that_go_back_lose_no_sound() -> None:
    machine = opened()
    assert positions(machine, [0, 20, 40, 0, 20]) == [0, 160, 320, 480, 640]


def test_timestamps_of_another_clock_are_taken_as_steps() -> None:
    assert positions(opened(), [0, 20, 60], origin_ms=1_700_000_000_000) == [0, 160, 480]


def test_an_absurd_leap_is_no_silence() -> None:
    machine = opened()
    machine.handle(media(0), NOW)
    odd, heard = machine.handle(media(3_600_000), NOW + 0.02)
    assert isinstance(odd, Noted)
    assert isinstance(heard, Heard)
    assert heard.frame.start == 160


def test_keys_and_marks() -> None:
    machine = opened()
    assert machine.handle(wire.Dtmf(wire.KeyDetail("#"), "MZ1", 2), NOW) == [Pressed("#")]
    assert machine.handle(wire.Dtmf(wire.KeyDetail("a"), "MZ1", 3), NOW) == [Pressed("A")]
    assert machine.handle(wire.Mark(wire.MarkDetail("g1:u1:5"), "MZ1", 4), NOW) == [
        Echoed("g1:u1:5")
    ]
    assert machine.handle(wire.Dtmf(wire.KeyDetail("x"), "MZ1", 5), NOW) == [Noted("unknown key")]


def test_repeated_and_late_messages_are_dropped_and_noted_once() -> None:
    machine = opened()
    assert len(machine.handle(media(0, 2), NOW)) == 1
    assert machine.handle(media(0, 2), NOW) == [Noted("out of order", "2 after 2")]
    assert machine.handle(media(20, 1), NOW) == []
    assert isinstance(machine.handle(media(20, 3), NOW)[0], Heard)


def test_a_gap_in_the_numbers_is_no_fault() -> None:
    machine = opened()
    assert isinstance(machine.handle(media(0, 7), NOW)[0], Heard)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (media(0, track="outbound"), "sound of another track"),
        (media(0, size=0), "sound of an odd length"),
        (media(0, size=8001), "sound of an odd length"),
        (wire.Mark(wire.MarkDetail("x"), "MZ2"), "message of another stream"),
        (wire.Stop("MZ2"), "message of another stream"),
        (wire.Connected(), "connected twice"),
        (wire.Unknown("weather"), "unknown event 'weather'"),
    ],
)
def test_oddities_are_noted_once_and_lived_with(message: wire.Message, what: str) -> None:
    machine = opened()
    outcomes = machine.handle(message, NOW)
    assert [one.what for one in outcomes if isinstance(one, Noted)] == [what]
    assert machine.handle(message, NOW) == []
    assert isinstance(machine.handle(media(0), NOW)[0], Heard)


def changed(**changes: object) -> wire.Start:
    values = {name: getattr(DETAIL, name) for name in DETAIL.__struct_fields__} | changes
    return wire.Start(wire.StartDetail(**values), 1)


@pytest.mark.parametrize(
    ("message", "code", "said"),
    [
        (media(0), 1002, "before start"),
        (wire.Mark(wire.MarkDetail("x")), 1002, "before start"),
        (wire.Stop(), 1002, "before start"),
        (changed(media_format=wire.MediaFormat("audio/x-mulaw", 16000, 1)), 1003, "16000 Hz"),
        (changed(media_format=wire.MediaFormat("audio/x-l16", 8000, 1)), 1003, "audio/x-l16"),
        (changed(media_format=wire.MediaFormat("audio/x-mulaw", 8000, 2)), 1003, "2 channels"),
        (changed(tracks=("outbound",)), 1003, "inbound"),
        (changed(call_sid="../../etc"), 1002, "callSid"),
        (changed(stream_sid=""), 1002, "streamSid"),
    ],
)
def test_what_cannot_be_lived_with_ends_the_stream(
    message: wire.Message, code: int, said: str
) -> None:
    machine = MediaStream(NOW + 5)
    machine.handle(wire.Connected(), NOW)
    (refused,) = machine.handle(message, NOW)
    assert isinstance(refused, Refused)
    assert refused.code == code
    assert said in refused.reason
    assert machine.handle(START, NOW) == []
    assert machine.deadline is None


def test_a_second_start_ends_the_stream() -> None:
    (refused,) = opened().handle(START, NOW)
    assert isinstance(refused, Refused)


def test_a_stream_that_never_starts_is_ended() -> None:
    machine = MediaStream(NOW + 5)
    assert machine.deadline == NOW + 5
    (refused,) = machine.expire()
    assert refused == Refused(1008, "the stream did not start in time")
    assert opened().expire() == []


def test_malformed_messages_end_a_stream_at_once_before_and_late_after_its_start() -> None:
    early = MediaStream(NOW + 5)
    assert early.malformed("no JSON") == [Refused(1002, "no JSON")]
    machine = opened()
    outcomes = [machine.malformed("no JSON") for _ in range(stream.MALFORMED_MOST)]
    assert outcomes[0] == [Noted("malformed message", "no JSON")]
    assert outcomes[1:-1] == [[]] * (stream.MALFORMED_MOST - 2)
    assert outcomes[-1] == [Refused(1002, "no JSON")]


def test_after_stop_nothing_counts() -> None:
    machine = opened()
    assert machine.handle(wire.Stop("MZ1"), NOW) == [Stopped()]
    assert machine.handle(media(0), NOW) == []
    assert machine.malformed("x") == []


def test_kinds_of_oddity_are_bounded() -> None:
    machine = opened()
    noted = [machine.handle(wire.Unknown(f"e{n}"), NOW) for n in range(100)]
    assert sum(map(len, noted)) == stream.KINDS_NOTED


messages = st.one_of(
    st.builds(wire.Connected),
    st.sampled_from([START, changed(call_sid="CA9"), changed(tracks=())]),
    st.builds(
        media, st.integers(-(10**6), 10**7), st.integers(0, 60), st.sampled_from([0, 1, 160, 9000])
    ),
    st.builds(
        lambda name, sid, number: wire.Mark(wire.MarkDetail(name), sid, number),
        st.text(max_size=5),
        st.sampled_from(["", "MZ1", "MZ2"]),
        st.integers(-1, 60),
    ),
    st.builds(lambda digit: wire.Dtmf(wire.KeyDetail(digit), "MZ1"), st.text(max_size=2)),
    st.builds(lambda sid: wire.Stop(stream_sid=sid), st.sampled_from(["", "MZ1", "MZ2"])),
    st.builds(wire.Unknown, st.text(max_size=3)),
    st.just("malformed"),
    st.just("expired"),
)


@given(st.lists(st.tuples(messages, st.floats(0, 30)), max_size=60))
def test_any_order_of_messages(story: list[tuple[wire.Message | str, float]]) -> None:
    machine = MediaStream(NOW + 5)
    now = NOW
    outcomes: list[Outcome] = []
    for message, pause in story:
        now += pause
        if message == "malformed":
            outcomes += machine.malformed("x")
        elif message == "expired":
            outcomes += machine.expire()
        else:
            assert not isinstance(message, str)
            outcomes += machine.handle(message, now)
    kinds = [type(one) for one in outcomes]
    assert kinds.count(Opened) <= 1
    assert kinds.count(Refused) + kinds.count(Stopped) <= 1
    ends = [n for n, kind in enumerate(kinds) if kind in (Refused, Stopped)]
    assert not ends or ends[0] == len(kinds) - 1, "nothing follows the end"
    frames = [one.frame for one in outcomes if isinstance(one, Heard)]
    assert all(a.end <= b.start for a, b in pairwise(frames))
    if frames:
        assert Opened in kinds
        bound = (now - NOW + stream.AHEAD_SECONDS) * 8000
        silent = frames[-1].start - sum(len(one.payload) for one in frames[:-1])
        assert silent <= bound, "no more silence than time has passed"
