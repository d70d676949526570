"""Whole media streams between two ends, over a network whose every fate is in a list."""

from __future__ import annotations

import heapq
import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.lines.rtp.offer import Agreement
from gateway.lines.rtp.packet import Packet, is_rtcp
from gateway.lines.rtp.session import SessionSettings
from gateway.lines.rtp.stream import Datagram, RtpStream, StreamSettings
from media.codec import wire_form
from media.frame import AudioFrame
from media.playout import Playout
from tests.gateway.lines.sip.support import negotiation
from tests.support.sip_answers import tone

TICK = 0.02
TRANSIT = 0.03
"""Seconds on the way when nothing delays a packet."""

SPEECH = Path(__file__).parents[3] / "data/speech/demo/tel_ar40_caller_tesla.flac"

A, B = ("192.0.2.1", 6000), ("192.0.2.9", 6000)


def agreements(**media: object) -> tuple[Agreement, Agreement]:
    """Let two sides agree."""
    near, far = negotiation(**media), negotiation(**media)
    far._local = replace(far._local, host=B[0])
    one = near.accept(far.answer(near.offer()))
    assert far.agreed is not None
    return one, far.agreed


def stream(agreement: Agreement, seed: int = 1) -> RtpStream:
    def draw(below: int) -> int:
        return seed * 7919 % below

    return RtpStream(agreement, StreamSettings("192.0.2.9", SessionSettings("name", 1.7e9)), draw)


@dataclass
class Wire:
    """Two streams that tick every 20 ms, and the network between them."""

    near: RtpStream
    far: RtpStream
    delays: list[float | None] = field(default_factory=list)
    "of the near side's next packets; None is lost"
    now: float = 1000.0
    heard: list[AudioFrame] = field(default_factory=list)
    keys: str = ""
    depths: list[tuple[float, float]] = field(default_factory=list)
    packets: list[Packet] = field(default_factory=list)
    "of the near side, as they left"
    _queue: list[tuple[float, int, bytes]] = field(default_factory=list)
    _count: int = 0

    def tick(self, payloads: Sequence[bytes] = (), more: bool = False) -> None:
        """Let 20 ms pass; the near side has `payloads` to send."""
        for one in self.near.tick(self.now, payloads, more):
            self._carry(one)
        for one in self.far.tick(self.now, (), False):
            self.near.receive(one.data, B, self.now + TRANSIT)
        self.now += TICK
        # The two ends' clocks are out of step by 7 ms.
        moment = self.now - 0.013
        while self._queue and self._queue[0][0] <= moment:
            at, _, data = heapq.heappop(self._queue)
            self.keys += self.far.receive(data, A, at) or ""
        frame = self.far.hear(moment)
        if frame is not None:
            self.heard.append(frame)
        reception = self.far.session.receiver._reception
        if reception is not None:
            self.depths.append((self.now, reception.buffer.depth(moment)))

    def _carry(self, one: Datagram) -> None:
        delay: float | None = 0.0
        if not is_rtcp(one.data) and not self.near.secure.active:
            self.packets.append(Packet.parse(one.data))
        if self.delays and not is_rtcp(one.data):
            delay = self.delays.pop(0)
        if delay is not None:
            self._count += 1
            heapq.heappush(self._queue, (self.now + TRANSIT + delay, self._count, one.data))

    def settle(self) -> None:
        """Let what is on its way arrive."""
        while self._queue:
            at, _, data = heapq.heappop(self._queue)
            self.far.receive(data, A, at)
            self.now = max(self.now, at)

    def play(self, sound: bytes) -> None:
        """Send sound, 20 ms a tick."""
        form = self.near.form
        payload = form.encode(sound)
        size = form.rate // 50 * form.bytes_per_sample
        for at in range(0, len(payload) - size + 1, size):
            self.tick([payload[at : at + size]])

    @property
    def pcm(self) -> np.ndarray:  # type: ignore[type-arg]
        return np.frombuffer(b"".join(frame.pcm for frame in self.heard), dtype="<i2")


def wire(**media: object) -> Wire:
    one, other = agreements(**media)
    return Wire(stream(one), stream(other, 2))


def strength(sound: np.ndarray, hertz: float, rate: int = 8000) -> float:  # type: ignore[type-arg]
    """Return the share of a sound's power that lies within 20 Hz of a frequency."""
    spectrum = np.abs(np.fft.rfft(sound.astype(float) * np.hanning(len(sound)))) ** 2
    at = np.fft.rfftfreq(len(sound), 1 / rate)
    return float(spectrum[np.abs(at - hertz) < 20].sum() / spectrum.sum())


@pytest.mark.parametrize("codec", ["pcmu", "pcma"])
def test_sound_arrives_whole(codec: str) -> None:
    it = wire(codecs=(codec,))
    it.play(tone(440, 2.0))
    assert strength(it.pcm[4000:12000], 440) > 0.99
    starts = [frame.start for frame in it.heard]
    assert starts == list(range(0, 160 * len(starts), 160))
    form = wire_form(codec, 8000)
    for frame in it.heard:
        if frame.payload:  # passed through as it came
            assert (frame.codec, form.decode(frame.payload)) == (codec, frame.pcm)


def test_silence_is_sent_where_there_is_nothing() -> None:
    it = wire()
    for _ in range(50):
        it.tick()
    assert len(it.packets) == 50
    assert {packet.payload for packet in it.packets} == {b"\xff" * 160}
    numbers = [packet.sequence for packet in it.packets]
    assert all((b - a) & 0xFFFF == 1 for a, b in itertools.pairwise(numbers))
    assert [packet.marker for packet in it.packets].count(True) == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=120))
def test_the_clock_of_the_stream_never_leaves_the_clock(counts: list[int]) -> None:
    """Playout may give none, one or several frames a tick; the stream stays on time."""
    it = wire()
    owed = 0
    for count in counts:
        owed = min(owed + 1, 3)
        give = min(count, owed)
        owed -= give
        it.tick([b"\x00" * 160] * give, more=owed > 0)
    it.tick()
    first, last = it.packets[0], it.packets[-1]
    units = (last.timestamp - first.timestamp) & 0xFFFFFFFF
    assert abs(units / 160 - len(counts)) <= 2


def test_a_stall_is_jumped_over_and_marked() -> None:
    it = wire()
    it.tick([b"\x00" * 160])
    it.now += 5.0
    it.tick([b"\x00" * 160])
    units = (it.packets[-1].timestamp - it.packets[0].timestamp) & 0xFFFFFFFF
    assert abs(units / 8000 - 5.02) < 0.05
    assert any(packet.marker for packet in it.packets[1:])


@pytest.mark.parametrize(
    ("ptime", "samples", "count"), [(10, 80, 200), (40, 320, 50), (60, 480, 33)]
)
def test_packets_have_the_length_the_far_side_wants(ptime: int, samples: int, count: int) -> None:
    it = wire(ptime_ms=ptime)
    it.play(tone(440, 2.0))
    assert {len(packet.payload) for packet in it.packets} == {samples}
    assert abs(len(it.packets) - count) <= 1
    assert strength(it.pcm[6000:12000], 440) > 0.99


def test_numbers_and_clock_wrap_around() -> None:
    it = wire()
    it.near.session.sounder.sender._sequence = 0xFFFF - 40
    it.near.session.sounder.sender._timestamp = 0xFFFFFFFF - 160 * 60
    it.play(tone(440, 3.0))
    assert strength(it.pcm[4000:20000], 440) > 0.99
    assert it.far.session.receiver.totals()[0] == it.far.session.receiver.totals()[1]


def test_twelve_hours_of_a_stream() -> None:
    it = wire()
    for _ in range(12 * 6):
        it.play(tone(440, 0.4))
        # What lies between is silence of the same stream, without ticking through it.
        it.near.session.sounder._jump(600 * 50 - 20)
        it.now += 600.0 - 0.4
    it.play(tone(440, 2.0))
    assert strength(it.pcm[-8000:], 440) > 0.99
    units = it.near.session.sounder.sender.timestamp - it.packets[0].timestamp
    assert abs(units % 2**32 - round((it.now - 1000.0) * 8000) % 2**32) < 8000


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.1])
def test_lost_packets_are_concealed(share: float) -> None:
    it = wire()
    random = np.random.default_rng(5)
    it.delays = [None if random.random() < share else 0.0 for _ in range(200)]
    lost = sum(delay is None for delay in it.delays)
    it.play(tone(440, 4.0))
    assert strength(it.pcm[8000:24000], 440) > 0.9
    received, expected, _ = it.far.session.receiver.totals()
    assert expected - received == lost
    quality = it.far.session.quality(it.now)
    assert quality.lost == lost
    assert quality.opinion is not None
    assert quality.opinion > (4.2 if share < 0.01 else 2.5)


def test_a_call_of_which_nothing_came_has_no_opinion() -> None:
    it = wire()
    it.delays = [None] * 200
    it.play(tone(440, 2.0))
    quality = it.far.session.quality(it.now)
    assert quality.received == 0
    assert quality.opinion is None
    assert "mos" not in quality.document()


def test_packets_out_of_order_lose_nothing() -> None:
    it = wire()
    it.delays = [0.03 if number % 7 == 3 else 0.0 for number in range(100)]
    it.play(tone(440, 3.0))
    assert strength(it.pcm[8000:20000], 440) > 0.98
    assert it.far.session.receiver.totals()[2] <= 3  # late ones, before the buffer knew


def test_added_delay_is_gone_two_seconds_after_the_disturbance() -> None:
    it = wire()
    random = np.random.default_rng(9)
    it.play(tone(440, 2.0))
    before = max(depth for _, depth in it.depths[-50:])
    it.delays = [float(one) for one in random.uniform(0.0, 0.06, 150)]
    it.play(tone(440, 3.0))
    assert max(depth for _, depth in it.depths[-50:]) > before + 0.02
    it.play(tone(440, 2.0))
    it.play(tone(440, 1.0))
    assert max(depth for _, depth in it.depths[-50:]) <= before + 0.021
    assert strength(it.pcm[-8000:], 440) > 0.98


def test_keys_beside_sound() -> None:
    it = wire()
    it.play(tone(440, 0.2))
    assert it.near.press("1#")
    it.play(tone(440, 1.0))
    assert it.keys == "1#"
    assert strength(it.pcm[3000:9000], 440) > 0.98


def test_comfort_noise_is_no_sound_and_no_loss() -> None:
    it = wire()
    it.play(tone(440, 0.5))
    it.settle()
    last = it.packets[-1]
    for number in range(1, 26):
        packet = Packet(
            13, last.sequence + number, last.timestamp + 160 * number, last.ssrc, b"\x46"
        )
        it.far.receive(packet.encode(), A, it.now)
        it.now += TICK
        it.far.hear(it.now - 0.013)
    received, expected, _ = it.far.session.receiver.totals()
    assert received == expected


def test_packets_of_a_kind_that_nobody_agreed_on_are_no_loss() -> None:
    """A switch that sends its keys in the type it has always sent them in."""
    it = wire()
    it.play(tone(440, 0.5))
    for _ in range(10):
        event = it.near.session.sounder.sender.event(97, b"\x05\x0a\x00\xa0", 7, False)
        it._carry(Datagram(event, B))
        it.play(tone(440, 0.02))
    it.play(tone(440, 0.5))
    quality = it.far.session.quality(it.now)
    assert (quality.lost, quality.concealed) == (0, 0.0)


def test_another_source_goes_on_where_the_first_ended() -> None:
    it = wire()
    it.play(tone(440, 1.0))
    other = stream(agreements()[0], 77)
    it.near = other
    it.play(tone(440, 1.0))
    assert strength(it.pcm[-6000:], 440) > 0.95
    starts = [frame.start for frame in it.heard]
    assert starts == list(range(0, 160 * len(starts), 160))


def test_encrypted_streams_and_a_stranger() -> None:
    it = wire(srtp="required")
    assert it.near.secure.active
    it.play(tone(440, 1.0))
    assert strength(it.pcm[2000:6000], 440) > 0.99
    heard = it.far.last_heard
    forged = Packet(0, 1, 160, 99, b"\x00" * 160).encode()
    assert it.far.receive(forged, A, it.now + 5.0) is None
    assert it.far.last_heard == heard


def test_reports_give_the_round_trip() -> None:
    it = wire()
    for _ in range(1200):
        it.tick()
    assert it.near.session.round_trip == pytest.approx(2 * TRANSIT, abs=0.03)
    assert it.near.session.quality(it.now).far_loss == 0.0


def test_unknown_payload_types_are_dropped() -> None:
    it = wire()
    it.far.receive(Packet(97, 1, 1, 1, b"x" * 160).encode(), A, it.now)
    assert it.far.last_heard is None
    assert it.far.hear(it.now) is None


# --- the ledger ----------------------------------------------------------------------------------


@pytest.mark.parametrize("jitter", [0.0, 0.06])
def test_the_heard_position_stays_within_its_bound(jitter: float) -> None:
    """Compare what the ledger says with what the far end has really played."""
    it = wire()
    random = np.random.default_rng(3)
    it.delays = [float(one) for one in random.uniform(0.0, jitter, 1000)] if jitter else []
    playout = Playout(wire_form("pcmu", 8000), lead=0, latency=0.04, basis="sent")
    playout.set_latency(TRANSIT + 0.04, TRANSIT + 0.03)
    ramp = np.arange(1, 8000 * 4 + 1)
    marks = (ramp // 160 % 200 + 28).astype(np.uint8).tobytes()  # each frame has its own code
    playout.push(1, marks)
    playout.end(1)
    for tick in range(205):
        it.tick([chunk.payload for chunk in playout.pull(it.now)], playout.waiting > 0)
        position = playout.heard(1, it.now)
        if tick < 20 or not it.heard or tick > 190:
            continue
        truth = _played(it.heard[-1].payload, tick)
        if truth is not None:
            assert abs(position.heard - truth) <= position.error + 320
    assert _end(playout, it) == 32_000


def _played(payload: bytes, tick: int) -> int | None:
    """Return the position at the end of a frame that is recognised by its code."""
    if len(payload) != 160:
        return None
    code = payload[80] - 28
    if not 0 <= code < 200:
        return None
    near = tick
    number = min((code + 200 * lap for lap in range(2)), key=lambda one: abs(one - near))
    return (number + 1) * 160


def _end(playout: Playout, it: Wire) -> int:
    return playout.heard(1, it.now + 5.0).heard


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.1])
def test_concealed_speech_is_still_recognised(share: float, tmp_path: Path) -> None:
    speech, rate = soundfile.read(SPEECH, dtype="int16")
    assert rate == 8000
    it = wire()
    random = np.random.default_rng(11)
    it.delays = [None if random.random() < share else 0.0 for _ in range(1000)]
    it.play(np.concatenate((speech, np.zeros(8000, dtype=np.int16))).tobytes())
    path = tmp_path / "heard.wav"
    soundfile.write(path, it.pcm, 8000, subtype="PCM_16")
    command = [sys.executable, "-m", "gateway", "transcribe", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, check=True)
    assert "tesla" in json.loads(done.stdout.splitlines()[0])["text"].lower()
