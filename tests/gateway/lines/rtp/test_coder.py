"""Coders: every codec at every rate a call may have; lengths are known, garbage is no accident."""

from __future__ import annotations

import numpy as np
import pytest

from gateway.lines.rtp.codecs import CODECS
from gateway.lines.rtp.coder import coder_for, playout_form
from media.opus import OpusEncoder
from tests.gateway.lines.rtp.test_stream import strength, wire
from tests.support.sip_answers import tone


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
@pytest.mark.parametrize("name", list(CODECS))
def test_a_tone_survives_at_every_rate(name: str, rate: int) -> None:
    codec = CODECS[name]
    near, far = coder_for(codec, rate), coder_for(codec, rate)
    sound, size = tone(1800, 1.0, rate), rate // 50 * 2
    heard, units = b"", 0
    for at in range(0, len(sound), size):
        payload = near.encode(sound[at : at + size])
        units += far.units(payload)
        heard += far.decode(payload)
    samples = np.frombuffer(heard, dtype="<i2")
    # Two resamplers, where the codec does not go to the rate by itself, hold some sound back.
    assert units == pytest.approx(codec.clock, rel=0.08)
    assert len(samples) == pytest.approx(rate, rel=0.15)
    assert strength(samples[rate // 4 :], 1800, rate) > 0.9
    level = np.sqrt(np.mean((samples[rate // 4 : -rate // 5] / 32767) ** 2))
    assert level == pytest.approx(0.25 / np.sqrt(2), rel=0.15)


@pytest.mark.parametrize(("name", "hertz"), [("g722", 5000), ("opus", 6000)])
def test_a_whole_stream_is_wideband(name: str, hertz: int) -> None:
    it = wire(codecs=(name,))
    rate = CODECS[name].rate
    it.play(tone(hertz, 2.0, rate))
    assert playout_form(CODECS[name]).rate == rate
    assert {frame.rate for frame in it.heard} == {rate}
    assert strength(it.pcm[rate // 2 : rate], hertz, rate) > 0.9
    assert it.far.session.receiver.totals()[0] > 90


def test_lengths_of_opus_packets() -> None:
    units = coder_for(CODECS["opus"], 24000).units
    assert units(bytes((0 << 3,))) == 480
    assert units(bytes(((31 << 3) | 1, 0))) == 1920
    assert units(bytes(((1 << 3) | 3, 3))) == 2880
    assert units(bytes(((3 << 3) | 3, 63))) == 0  # over 120 ms cannot be
    assert units(b"") == 0


def test_garbage_is_a_value_error_or_silence() -> None:
    coder = coder_for(CODECS["opus"], 24000)
    for payload in (b"\xff\xff\xff", bytes(range(40))):
        try:
            coder.decode(payload)
        except ValueError:
            continue


def test_opus_sends_copies_for_what_the_far_side_may_lose() -> None:
    """Copies of the last frame travel in the next: packets are larger than without."""
    sound = (np.random.default_rng(4).normal(0, 3000, 24000)).astype("<i2").tobytes()
    bare = OpusEncoder(24000, loss=0.0)
    coder = coder_for(CODECS["opus"], 24000)
    coder.expect_loss(0.0)
    pieces = [sound[at : at + 960] for at in range(0, len(sound), 960)]
    assert {coder.encode(piece) for piece in pieces} != {bare.encode(piece) for piece in pieces}
    assert coder.mend is not None
    assert len(coder.mend(480, None)) == 960
