"""RTP, keys, RTCP, SRTP and the latch: the pieces of a media stream."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.lines.keypad import KEYS
from gateway.lines.rtp import rtcp
from gateway.lines.rtp.crypto import SUITES, Crypto
from gateway.lines.rtp.dtmf import KeyReader, KeyWriter
from gateway.lines.rtp.latch import PROBATION, REOPEN_SECONDS, Latch
from gateway.lines.rtp.packet import Packet, Sender, is_rtcp
from gateway.lines.rtp.srtp import SecureStream

u16, u32 = st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF)


@given(
    st.builds(Packet, st.integers(0, 127), u16, u32, u32, st.binary(max_size=200), st.booleans())
)
def test_a_packet_survives_the_wire(packet: Packet) -> None:
    data = packet.encode()
    assert Packet.parse(data) == packet
    assert not is_rtcp(data) or 64 <= packet.type <= 95


def test_extension_sources_and_padding_are_taken_off() -> None:
    head = bytes((0x80 | 0x20 | 0x10 | 2, 0)) + bytes(2) + bytes(8)
    data = head + bytes(8) + b"\xbe\xde\x00\x01abcd" + b"sound" + b"\0\0\3"
    assert Packet.parse(data).payload == b"sound"


@given(st.binary(max_size=64))
def test_nothing_raises_but_value_errors(data: bytes) -> None:
    for read in (Packet.parse, rtcp.decode):
        try:
            read(data)
        except ValueError:
            continue


def test_numbers_wrap_around() -> None:
    sender = Sender(1, 0xFFFE, 0xFFFFFFFF - 319)
    packets = [Packet.parse(sender.sound(0, bytes(160), 160)) for _ in range(4)]
    assert [one.sequence for one in packets] == [0xFFFE, 0xFFFF, 0, 1]
    assert [one.timestamp for one in packets] == [0xFFFFFEC0, 0xFFFFFF60, 0, 160]
    assert [one.marker for one in packets] == [True, False, False, False]


# --- keys ----------------------------------------------------------------------------------------


def pressed(keys: str, length: float = 0.12, gap: float = 0.08) -> list[tuple[int, bytes, bool]]:
    """Return (timestamp, payload, marker) of every packet of some keys."""
    writer = KeyWriter(8000, length, gap)
    writer.press(keys)
    packets, timestamp = [], 1000
    while writer.busy:
        packet = writer.tick(timestamp)
        if packet is not None:
            packets.append((packet.timestamp, packet.payload, packet.marker))
        timestamp += 160
    return packets


@given(st.text(KEYS, max_size=12))
def test_keys_arrive_as_they_were_pressed(keys: str) -> None:
    reader = KeyReader()
    heard = [reader.read(timestamp, payload) for timestamp, payload, _ in pressed(keys)]
    assert "".join(key for key in heard if key) == keys


@given(st.text(KEYS, min_size=1, max_size=6), st.data())
def test_a_key_is_heard_once_while_any_packet_of_it_comes(keys: str, data: st.DataObject) -> None:
    packets = pressed(keys)
    by_key: dict[int, list[bytes]] = {}
    for timestamp, payload, _ in packets:
        by_key.setdefault(timestamp, []).append(payload)
    reader, heard = KeyReader(), ""
    for timestamp, payloads in by_key.items():
        kept = data.draw(st.lists(st.sampled_from(payloads), min_size=1, max_size=9))
        heard += "".join(reader.read(timestamp, payload) or "" for payload in kept)
    assert heard == keys


def test_the_shape_of_a_key() -> None:
    packets = pressed("5", 0.1)
    assert [marker for _, _, marker in packets] == [True] + [False] * (len(packets) - 1)
    assert {timestamp for timestamp, _, _ in packets} == {1000}
    durations = [int.from_bytes(payload[2:], "big") for _, payload, _ in packets]
    assert durations == [160, 320, 480, 640, 800, 800, 800]
    assert [bool(payload[1] & 0x80) for _, payload, _ in packets] == [False] * 4 + [True] * 3
    assert all(payload[0] == 5 and not payload[1] & 0x40 for _, payload, _ in packets)


def test_keys_are_paced() -> None:
    starts = sorted({timestamp for timestamp, _, _ in pressed("12")})
    assert (starts[1] - starts[0]) / 8000 >= 0.12 + 0.08


def test_a_long_key_in_segments_is_one_key() -> None:
    reader = KeyReader()
    first = bytes((5, 10)) + (0xFFFF).to_bytes(2, "big")
    assert reader.read(1000, first) == "5"
    assert reader.read(1000 + 0xFFFF, first) is None
    assert reader.read(1000 + 0xFFFF + 9000, first) == "5"


def test_events_that_are_no_keys_are_passed_over() -> None:
    assert KeyReader().read(1, bytes((16, 0, 0, 160))) is None
    assert KeyReader().read(1, b"\x01") is None


# --- RTCP ----------------------------------------------------------------------------------------

block = st.builds(
    rtcp.Block,
    u32,
    st.integers(0, 255),
    st.integers(-0x800000, 0x7FFFFF),
    u32,
    u32,
    u32,
    u32,
)


@given(u32, st.lists(block, max_size=3), st.booleans(), st.integers(0, 2**64 - 1), u32)
def test_a_report_survives_the_wire(
    ssrc: int, blocks: list[rtcp.Block], sends: bool, ntp: int, packets: int
) -> None:
    report = rtcp.Report(
        ssrc, tuple(blocks), ntp if sends else None, *((7, packets, 9) if sends else (0, 0, 0))
    )
    data = rtcp.encode(report, "name@host")
    assert rtcp.decode(data) == [report]
    assert is_rtcp(data)
    assert len(data) % 4 == 0


def test_goodbye_is_read() -> None:
    data = rtcp.encode(rtcp.Report(5, goodbye=True), "n")
    assert rtcp.decode(data) == [rtcp.Report(5), rtcp.Report(5, goodbye=True)]


def test_the_round_trip_of_the_standard_s_example() -> None:
    # RFC 3550, figure 2: A = 0xb710:8000, LSR = 0xb705:2000, DLSR = 0x0005:4000, 6.125 s
    one = rtcp.Block(1, 0, 0, 0, 0, 0xB7052000, 0x00054000)
    assert rtcp.round_trip(one, 0xB7108000 << 16) == pytest.approx(6.125)
    assert rtcp.round_trip(rtcp.Block(1, 0, 0, 0, 0, 0, 0), 0xB7108000 << 16) is None


def test_opinions_fall_with_loss_and_delay() -> None:
    assert rtcp.opinion(0.0, 0.05) > 4.3
    assert rtcp.opinion(0.05, 0.05) < rtcp.opinion(0.01, 0.05) < rtcp.opinion(0.0, 0.05)
    assert rtcp.opinion(0.0, 0.4) < rtcp.opinion(0.0, 0.1)
    assert 1.0 <= rtcp.opinion(1.0, 5.0) < 1.5


# --- SRTP ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", sorted(SUITES))
def test_what_is_encrypted_on_one_side_is_read_on_the_other(suite: str) -> None:
    one = Crypto(1, suite, bytes(range(SUITES[suite])))
    other = Crypto(1, suite, bytes(reversed(range(SUITES[suite]))))
    near, far = SecureStream(), SecureStream()
    near.use(one, other)
    far.use(other, one)
    packet = Packet(0, 1, 160, 9, b"sound" * 10).encode()
    protected = near.protect(packet)
    assert b"sound" not in protected
    assert far.unprotect(protected) == packet
    assert far.unprotect(protected) is None  # a replay
    assert far.unprotect(packet) is None  # and what is not encrypted at all
    report = rtcp.encode(rtcp.Report(9), "n")
    assert near.unprotect(far.protect(report, rtcp=True), rtcp=True) == report


@pytest.mark.parametrize(
    ("suite", "tags"),
    [
        ("AES_CM_128_HMAC_SHA1_80", (10, 10)),
        ("AES_CM_128_HMAC_SHA1_32", (4, 10)),
        ("AEAD_AES_256_GCM", (0, 0)),
    ],
)
def test_packets_that_name_their_key_are_read_and_those_that_name_another_are_not(
    suite: str, tags: tuple[int, int]
) -> None:
    """RFC 3711, section 3.1: the identifier stands before the tag."""
    key = bytes(range(SUITES[suite]))
    far, near = SecureStream(), SecureStream()
    far.use(Crypto(1, suite, key), None)
    near.use(None, Crypto.parse(f"1 {suite} inline:{base64.b64encode(key).decode()}|2^31|258:4"))
    for rtcp_too, tag in zip((False, True), tags, strict=True):
        plain = rtcp.encode(rtcp.Report(9), "n") if rtcp_too else Packet(0, 1, 1, 9, b"a").encode()
        wire = far.protect(plain, rtcp=rtcp_too)
        end = len(wire) - tag
        for name, wanted in ((b"\0\0\1\3", None), (b"\0\0\1\2", plain)):
            named = wire[:end] + name + wire[end:]
            assert near.unprotect(named, rtcp=rtcp_too) == wanted


def test_a_key_that_stays_keeps_its_context() -> None:
    one = Crypto(1, "AES_CM_128_HMAC_SHA1_80", bytes(30))
    near, far = SecureStream(), SecureStream()
    near.use(one, None)
    far.use(None, one)
    first = near.protect(Packet(0, 1, 160, 9, b"a").encode())
    assert far.unprotect(first) is not None
    near.use(one, None)
    far.use(None, one)
    assert far.unprotect(first) is None  # still a replay: the context lived on


# --- latch ---------------------------------------------------------------------------------------

HOME, SAME_HOST, NAT, ATTACKER = (
    ("192.0.2.9", 4000),
    ("192.0.2.9", 4002),
    ("198.51.100.7", 30000),
    ("203.0.113.66", 6666),
)


def test_the_expected_address_is_believed_at_once_and_for_good() -> None:
    it = Latch(HOME, "192.0.2.9")
    assert it.target == HOME
    assert it.admits(HOME, 1, 1, 0.0)
    for sequence in range(1000):
        assert not it.admits(ATTACKER, 2, sequence, 0.1 + sequence / 1000)
        it.admits(HOME, 1, sequence, 0.1 + sequence / 1000)
    assert it.target == HOME
    assert it.strangers == 1000


def test_behind_a_nat_packets_in_sequence_are_believed() -> None:
    it = Latch(("10.0.0.5", 4000), "10.0.0.5")
    admitted = [it.admits(NAT, 1, 100 + number, number * 0.02) for number in range(PROBATION + 1)]
    assert admitted == [False] * (PROBATION - 1) + [True, True]
    assert it.target == NAT


def test_a_port_scan_is_not_believed() -> None:
    it = Latch(HOME, "192.0.2.9")
    for number in range(50):
        assert not it.admits(ATTACKER, 2, number * 7, number * 0.02)
    assert it.target == HOME


def test_the_host_of_the_signalling_may_use_another_port() -> None:
    it = Latch(("10.0.0.5", 4000), "198.51.100.7")
    assert it.admits(NAT, 1, 1, 0.0)


def test_after_a_long_silence_the_same_host_may_move() -> None:
    it = Latch(HOME, "192.0.2.9")
    assert it.admits(HOME, 1, 1, 0.0)
    assert not it.admits(SAME_HOST, 1, 2, 1.0)
    assert not it.admits(ATTACKER, 1, 3, REOPEN_SECONDS + 1)
    assert it.admits(SAME_HOST, 1, 4, REOPEN_SECONDS + 1)


def test_who_has_the_key_may_move_anywhere_after_a_silence() -> None:
    it = Latch(HOME, "192.0.2.9")
    assert it.admits(HOME, 1, 1, 0.0, proven=True)
    assert it.admits(NAT, 1, 2, REOPEN_SECONDS + 1, proven=True)


@pytest.mark.parametrize(
    ("source", "proven"),
    [(HOME, False), (SAME_HOST, False), (("192.0.2.20", 7), False), (NAT, True)],
)
def test_who_sprayed_first_loses_the_stream_to_whom_the_description_names(
    source: tuple[str, int], proven: bool
) -> None:
    it = Latch(HOME, "192.0.2.20")
    for number in range(200):
        it.admits(ATTACKER, 2, number, number * 0.001)
    assert it.target == ATTACKER  # nobody else was there
    assert it.admits(source, 1, 1, 0.2, proven=proven)
    assert it.target == source
    for number in range(200):
        assert not it.admits(ATTACKER, 2, 200 + number, 0.21 + number * 0.001)
    assert it.target == source


def test_the_described_port_wins_over_another_of_its_host_and_the_key_over_both() -> None:
    it = Latch(HOME, "192.0.2.9")
    assert it.admits(SAME_HOST, 1, 1, 0.0)
    assert it.admits(HOME, 2, 1, 0.1)
    assert not it.admits(SAME_HOST, 1, 2, 0.2)
    assert it.admits(NAT, 3, 1, 0.3, proven=True)
    assert not it.admits(HOME, 2, 2, 0.4)
    assert it.target == NAT


def test_who_shows_the_key_later_from_where_they_are_is_not_taken_over_by_the_description() -> None:
    it = Latch(HOME, "192.0.2.9")
    assert it.admits(SAME_HOST, 1, 1, 0.0)
    assert it.admits(SAME_HOST, 1, 2, 0.1, proven=True)
    assert not it.admits(HOME, 2, 1, 0.2)


def test_a_new_description_opens_the_latch() -> None:
    it = Latch(HOME, "192.0.2.9")
    it.admits(HOME, 1, 1, 0.0)
    it.expect(NAT, 0.05)
    assert it.target == NAT
    assert it.admits(NAT, 1, 2, 0.1)
    it.expect(NAT, 0.05)
    assert it.locked


MOVED = ("198.51.100.20", 5000)


@pytest.mark.parametrize("proven", [False, True])
@pytest.mark.parametrize("moved", [MOVED, SAME_HOST])
def test_the_old_stream_is_heard_until_the_new_one_comes_and_is_never_sent_to(
    proven: bool, moved: tuple[str, int]
) -> None:
    it = Latch(HOME, "192.0.2.9")
    assert it.admits(HOME, 1, 1, 0.0, proven=proven)
    it.expect(moved, 1.0)
    for number in range(500):
        assert it.admits(HOME, 1, number, 1.0 + number / 50, proven=proven)
        assert it.target == moved
    assert it.admits((moved[0], 4711), 2, 1, 12.0, proven=proven)
    assert not it.admits(HOME, 1, 600, 12.1, proven=proven)
    assert it.target == (moved[0], 4711)


def test_a_telephone_behind_a_nat_may_name_another_port_of_its_own_and_stay() -> None:
    it = Latch(("10.0.0.5", 4000), "198.51.100.7")
    assert it.admits(NAT, 1, 1, 0.0)
    it.expect(("10.0.0.5", 4002), 1.0)
    assert it.admits(NAT, 1, 2, 1.1)
    assert it.target == ("10.0.0.5", 4002)
    assert it.admits(NAT, 1, 3, 1.1 + REOPEN_SECONDS)
    assert it.target == NAT


def test_a_description_that_takes_back_the_former_address_is_followed_too() -> None:
    it = Latch(HOME, "192.0.2.9")
    it.admits(HOME, 1, 1, 0.0)
    it.expect(("0.0.0.0", 4000), 1.0)
    it.admits(HOME, 1, 2, 1.1)
    assert it.target == ("0.0.0.0", 4000)
    it.expect(HOME, 2.0)
    assert it.admits(HOME, 1, 3, 2.1)
    assert it.target == HOME
