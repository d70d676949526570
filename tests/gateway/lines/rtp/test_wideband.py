"""G.722 and Opus: tones survive, lengths are known, and garbage is no accident."""

from __future__ import annotations

import numpy as np
import pytest

from gateway.lines.rtp.codecs import CODECS
from gateway.lines.rtp.coder import coder_for, playout_form
from tests.gateway.lines.rtp.test_stream import strength, wire
from tests.support.sip_answers import tone


@pytest.mark.parametrize(("name", "hertz"), [("g722", 5000.0), ("opus", 6000.0), ("opus", 440.0)])
def test_a_tone_survives(name: str, hertz: float) -> None:
    codec = CODECS[name]
    near, far = coder_for(codec), coder_for(codec)
    sound, size = tone(hertz, 1.0, codec.rate), codec.rate // 50 * 2
    heard = b""
    for at in range(0, len(sound), size):
        payload = near.encode(sound[at : at + size])
        assert far.units(payload) == codec.clock // 50
        heard += far.decode(payload)
    samples = np.frombuffer(heard, dtype="<i2")
    assert len(samples) == pytest.approx(codec.rate, rel=0.03)
    assert strength(samples[codec.rate // 4 :], hertz, codec.rate) > 0.9
    level = np.sqrt(np.mean((samples[codec.rate // 4 :] / 32767) ** 2))
    assert level == pytest.approx(0.25 / np.sqrt(2), rel=0.1)


@pytest.mark.parametrize("name", ["g722", "opus"])
def test_a_whole_stream(name: str) -> None:
    it = wire(codecs=(name,))
    rate = CODECS[name].rate
    it.play(tone(3000, 2.0, rate))
    assert playout_form(CODECS[name]).rate == rate
    assert {frame.rate for frame in it.heard} == {rate}
    assert strength(it.pcm[rate // 2 : rate], 3000, rate) > 0.9
    assert it.far.receiver.totals()[0] > 90


def test_lengths_of_opus_packets() -> None:
    coder = coder_for(CODECS["opus"])
    assert coder.units(bytes((0 << 3,))) == 480
    assert coder.units(bytes(((31 << 3) | 1, 0))) == 1920
    assert coder.units(bytes(((1 << 3) | 3, 3))) == 2880
    assert coder.units(bytes(((3 << 3) | 3, 63))) == 0  # over 120 ms cannot be
    assert coder.units(b"") == 0


def test_garbage_is_a_value_error_or_silence() -> None:
    coder = coder_for(CODECS["opus"])
    for payload in (b"\xff\xff\xff", bytes(range(40))):
        try:
            coder.decode(payload)
        except ValueError:
            continue
