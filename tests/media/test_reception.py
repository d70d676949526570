"""From packets to frames: what a call hears of a network that loses, delays and disorders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from media.codec import wire_form
from media.frame import AudioFrame
from media.level import level
from media.reception import Reception
from tests.media.network import BASE, FRAME, LOST, TICK
from tests.media.speech import TURNS

PCMU = wire_form("pcmu", 8000)


def listen(
    payloads: Sequence[bytes],
    delays: Sequence[float | None],
    reception: Reception | None = None,
    ticks: int | None = None,
) -> list[AudioFrame]:
    """Send payloads as scripted; packet n is due at n x 20 ms."""
    reception = reception or Reception(8000, PCMU.decode, codec="pcmu")
    arrivals = sorted(
        (number * TICK + BASE + delay, number)
        for number, delay in enumerate(delays)
        if delay is not None
    )
    frames, at = [], 0
    for tick in range(ticks or len(delays) + 8):
        now = tick * TICK + 0.007
        while at < len(arrivals) and arrivals[at][0] <= now:
            arrival, number = arrivals[at]
            reception.push(number, number * FRAME, payloads[number], arrival)
            at += 1
        frames.append(reception.pull(now))
    return frames


def speech(frames: int) -> list[bytes]:
    sound = np.concatenate([turn.samples() for turn in TURNS])
    payload = PCMU.encode(sound.tobytes())
    return [payload[n * FRAME : (n + 1) * FRAME] for n in range(frames)]


def test_a_calm_network_passes_everything_through_unbroken() -> None:
    sent = speech(200)
    frames = listen(sent, [0.0] * 200)
    assert [one.start for one in frames] == [n * FRAME for n in range(len(frames))]
    assert all(len(one.pcm) == 2 * FRAME and one.rate == 8000 for one in frames)
    passed = [one.payload for one in frames if one.codec == "pcmu"]
    # Nothing is left out, but for what brings the first depth down to its target.
    assert passed[-150:] == sent[-150:]
    assert all(PCMU.decode(one.payload) == one.pcm for one in frames if one.codec)
    assert len(frames) - len(passed) <= 10


def test_a_mended_frame_has_no_payload_to_pass_on() -> None:
    delays: list[float | None] = [0.0] * 60
    delays[40] = LOST
    frames = listen(speech(60), delays, ticks=58)
    without = [n for n, one in enumerate(frames) if n > 20 and not one.codec]
    # the substitute, and the frame that is blended with it
    assert len(without) == 2


@pytest.mark.parametrize("share", [10, 20, 100])
def test_speech_keeps_its_level_under_loss(share: int) -> None:
    sent = speech(600)
    delays = [LOST if n % share == share - 1 else 0.0 for n in range(600)]
    reception = Reception(8000, PCMU.decode)
    pcm = b"".join(one.pcm for one in listen(sent, delays, reception))
    wanted = b"".join(PCMU.decode(one) for one in sent)
    assert level(pcm) == pytest.approx(level(wanted), abs=1)
    missing = 600 // share * FRAME
    assert missing <= reception.concealer.concealed <= missing * 1.3 + 8 * FRAME


def test_after_a_hiccup_speech_is_caught_up_with_and_none_is_lost() -> None:
    sent = speech(500)
    held = 15
    delays = [0.0] * 100 + [(held - n) * TICK for n in range(held)] + [0.0] * (400 - held)
    reception = Reception(8000, PCMU.decode, codec="pcmu")
    frames = listen(sent, delays, reception)
    passed = {one.payload for one in frames if one.codec}
    assert reception.buffer.counts.late == 0
    # two seconds after the hiccup, frames come through as they are again
    settled = 100 + held + 100
    assert passed >= set(sent[settled:])
    heard = level(b"".join(one.pcm for one in frames[100 + held : settled]))
    meant = level(b"".join(PCMU.decode(one) for one in sent[100:settled]))
    assert heard == pytest.approx(meant, abs=2)


def test_keys_and_comfort_noise_are_no_loss_and_noise_is_heard() -> None:
    reception = Reception(8000, PCMU.decode)
    sent = speech(50)
    frames = []
    for number in range(100):
        now = number * TICK
        if number < 48:
            reception.push(number, number * FRAME, sent[number], now)
        elif number == 48:
            reception.push_other(number, number * FRAME, now)
        elif number == 49:
            reception.push_noise(number, number * FRAME, bytes([50, 100]), now)
        elif number == 70:
            reception.push_noise(50, number * FRAME, bytes([40]), now)
            reception.push_noise(51, number * FRAME, b"", now)
        frames.append(reception.pull(now + 0.001))
    assert reception.buffer.counts.lost == 0
    assert level(b"".join(one.pcm for one in frames[55:70])) == pytest.approx(-50, abs=1.5)
    assert level(b"".join(one.pcm for one in frames[75:])) == pytest.approx(-40, abs=1.5)
    assert reception.concealer.concealed == 0


def test_garbage_is_concealed_and_counted() -> None:
    def decode(payload: bytes) -> bytes:
        if payload == b"garbage":
            raise ValueError("no sound")
        return PCMU.decode(payload)

    sent = speech(60)
    sent[30] = b"garbage"
    reception = Reception(8000, decode)
    frames = listen(sent, [0.0] * 60, reception)
    assert reception.garbage == 1
    assert all(len(one.pcm) == 2 * FRAME for one in frames)


def test_the_clock_may_be_another_than_the_rate_of_the_sound() -> None:
    sound = (np.arange(48000) % 3000).astype("<i2").tobytes()
    reception = Reception(16000, lambda payload: payload, clock=48000)
    heard = b""
    for number in range(100):
        now = number * TICK
        at = number % 50 * 640
        reception.push(number, number * 960, sound[at : at + 640], now)
        frame = reception.pull(now + 0.001)
        assert len(frame.pcm) == 640
        heard += frame.pcm
    assert sound[640 * 20 : 640 * 40] in heard


def test_two_seconds_of_pulling_with_nothing_sent_is_silence() -> None:
    reception = Reception(8000, PCMU.decode)
    frames = [reception.pull(n * TICK) for n in range(100)]
    assert b"".join(one.pcm for one in frames) == bytes(2 * 16000)
    assert frames[-1].end == 16000
