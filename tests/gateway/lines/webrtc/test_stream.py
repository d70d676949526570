"""RTP both ways, without a network: one packet every 20 ms, and loss that leaves no delay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gateway.caller.sound import load
from gateway.lines.rtp.packet import Packet
from gateway.lines.rtp.session import Numbers, SessionSettings
from gateway.lines.webrtc.offer import read_offer
from gateway.lines.webrtc.stream import PageStream
from media.level import level
from media.opus import OpusDecoder, OpusEncoder
from media.playout import Chunk

CHROME = (Path(__file__).parent / "chrome.sdp").read_bytes()
SPEECH = Path(__file__).parents[3] / "data/speech/complete/sti_c13_45e6e6bb.flac"
RATE = 24000
FRAME = RATE // 50


def stream(codec: str = "opus") -> PageStream:
    agreed, numbers = read_offer(CHROME, (codec,)), Numbers(7, 100, 5000)
    return PageStream(agreed, RATE, numbers, SessionSettings("WR1", 0.0), lambda most: most // 2)


def chunk(number: int, payload: bytes) -> Chunk:
    return Chunk(1, 1, FRAME * number, FRAME * (number + 1), payload, last=False)


# --- out -----------------------------------------------------------------------------------------


def test_a_packet_leaves_every_tick_with_sound_or_without() -> None:
    sender = stream()
    packets: list[Packet] = []
    for tick in range(50):
        chunks = [chunk(tick, b"\x10\x20" * FRAME)] if 10 <= tick < 20 else []
        made = sender.tick(10 + 0.02 * tick, chunks, waiting=False)
        assert len(made) == 1
        packets += map(Packet.parse, made)
    assert [p.sequence for p in packets] == list(range(100, 150))
    assert [p.timestamp for p in packets] == list(range(5000, 5000 + 50 * 960, 960))
    assert {(p.type, p.ssrc) for p in packets} == {(111, 7)}


def test_silence_costs_no_encoding_and_is_silence() -> None:
    sender, decoder = stream(), OpusDecoder(RATE)
    payloads = [Packet.parse(sender.tick(0.02 * n, [], False)[0]).payload for n in range(60)]
    assert len(set(payloads[12:])) == 1
    heard = b"".join(map(decoder.decode, payloads))
    assert level(heard) < -75


def test_a_late_tick_is_made_up_for_and_a_long_stall_is_skipped() -> None:
    sender = stream()
    sender.tick(0.0, [], False)
    assert len(sender.tick(0.1, [], False)) == 5
    (packet,) = map(Packet.parse, sender.tick(5.0, [], False))
    assert packet.timestamp == 5000 + 250 * 960
    assert packet.marker


def test_sound_that_waits_for_its_moment_is_not_pushed_back_by_silence() -> None:
    sender = stream()
    sender.tick(0.0, [], False)
    assert sender.tick(0.02, [], waiting=True) == []
    assert len(sender.tick(0.04, [chunk(0, bytes(2 * FRAME))], waiting=True)) == 1


def test_g711_passes_through() -> None:
    sender = stream("pcmu")
    payload = bytes(range(160))
    (packet,) = map(Packet.parse, sender.tick(0.0, [chunk(0, payload)], False))
    assert packet.payload == payload
    assert sender.form.name == "pcmu"


# --- in ------------------------------------------------------------------------------------------


def spoken(seconds: float) -> list[Packet]:
    """Return packets of a voice, over and over, each with its number and time."""
    pcm = load(SPEECH, RATE).pcm
    encoder = OpusEncoder(RATE)
    packets = []
    for number in range(round(seconds * 50)):
        at = number * 2 * FRAME % (len(pcm) - 2 * FRAME)
        payload = encoder.encode(pcm[at : at + 2 * FRAME])
        packets.append(Packet(111, number & 0xFFFF, 960 * number, 9, payload))
    return packets


BURSTS = [first + step for first in range(300, 1300, 60) for step in range(3)]
"""Three packets in a row out of sixty, from the sixth second for twenty seconds: 5 %."""


def test_loss_in_bursts_leaves_no_delay_behind() -> None:
    receiver = stream()
    depths: list[float] = []
    heard = bytearray()
    for number, packet in enumerate(spoken(30)):
        now = 50 + 0.02 * number
        if number not in BURSTS:
            receiver.receive(packet.encode(), now)
        frame = receiver.hear(now + 0.005)
        if frame is not None:
            heard += frame.pcm
            depths.append(receiver.depth(now + 0.005))
    before = max(depths[200:290])
    after = depths[1300 + 100 :]  # two seconds after the last burst
    assert max(after) <= before + 0.001
    assert max(depths[300:1300]) < before + 0.1
    received, expected, _ = receiver.session.receiver.totals()
    assert expected - received == len(BURSTS)
    assert len(heard) // 2 == pytest.approx(30 * RATE, abs=0.2 * RATE)


def test_lost_words_are_filled_from_the_copies_in_later_packets() -> None:
    """Every twentieth packet is lost alone: what is heard instead is like what was said."""
    whole, lossy = stream(), stream()
    sounds: dict[str, bytearray] = {"whole": bytearray(), "lossy": bytearray()}
    for number, packet in enumerate(spoken(6)):
        now = 50 + 0.02 * number
        whole.receive(packet.encode(), now)
        if number % 20 != 10:
            lossy.receive(packet.encode(), now)
        for name, receiver in (("whole", whole), ("lossy", lossy)):
            frame = receiver.hear(now + 0.005)
            sounds[name] += frame.pcm if frame is not None else b""
    one, other = (np.frombuffer(bytes(s), "<i2").astype(float) for s in sounds.values())
    assert len(one) == len(other)
    likeness = (one @ other) / np.sqrt((one @ one) * (other @ other))
    assert likeness > 0.93
    assert lossy.session.receiver.concealed > 0.2


def test_gaps_of_a_silent_sender_are_silence() -> None:
    receiver, heard = stream(), bytearray()
    for number, packet in enumerate(spoken(2)):
        now = 50 + 0.02 * number
        if number < 50:
            receiver.receive(packet.encode(), now)
        frame = receiver.hear(now + 0.005)
        heard += frame.pcm if frame is not None else b""
    assert level(bytes(heard[-RATE:])) < -60
    again = Packet(
        111, 50, 960 * 150, 9, spoken(0.02)[0].payload
    )  # its clock went on, not its count
    receiver.receive(again.encode(), 53.0)
    assert receiver.session.receiver.totals()[1] == receiver.session.receiver.totals()[0]


def test_keys_are_told_once() -> None:
    receiver = stream()
    receiver.receive(spoken(0.02)[0].encode(), 1.0)
    keys = [
        receiver.receive(Packet(110, 1 + n, 960, 9, bytes((5, 10, 0, 100 + n))).encode(), 1.0)
        for n in range(5)
    ]
    assert keys == ["5", None, None, None, None]


@pytest.mark.parametrize("data", [b"", bytes(11), bytes(40), b"\x80\x6f" + bytes(10) + b"\xff" * 9])
def test_garbage_is_passed_over(data: bytes) -> None:
    receiver = stream()
    assert receiver.receive(data, 1.0) is None
    receiver.receive_report(data, 1.0)
    assert receiver.hear(1.0) is None or receiver.session.receiver.totals()[0] <= 1


def test_reports_measure_the_round_trip() -> None:
    here, there = stream(), stream()
    for number, packet in enumerate(spoken(1)):
        here.receive(packet.encode(), 100 + 0.02 * number)
        (sent,) = here.tick(100 + 0.02 * number, [], False)
        there.receive(sent, 100.05 + 0.02 * number)
    there.session.receiver.ssrc = 7
    here.report(101.0)
    (report,) = here.report(110.0)
    there.receive_report(report, 110.05)
    there.tick(110.0, [], False)
    there.report(110.0)
    (back,) = there.report(120.0)
    here.receive_report(back, 120.05)
    assert here.round_trip == pytest.approx(0.1, abs=0.001)
