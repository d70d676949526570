"""A media stream in every codec: loss that is mended, and codecs that change within a call."""

from __future__ import annotations

import numpy as np
import pytest

from media import sound_file
from media.resample import convert
from tests.gateway.lines.rtp.test_stream import SPEECH, agreements, strength, wire
from tests.support.sip_answers import tone


def test_opus_on_a_trunk_fills_lost_words_from_the_copies_in_later_packets() -> None:
    """Every twentieth packet is lost alone: what is heard instead is like what was said."""
    pcm, _ = sound_file.read(SPEECH)
    speech = convert(np.ascontiguousarray(pcm[:, 0]).tobytes(), 8000, 24000)[: 2 * 24000 * 5]
    whole, lossy = wire(codecs=("opus",)), wire(codecs=("opus",))
    lossy.delays = [None if number % 20 == 10 else 0.0 for number in range(250)]
    whole.play(speech)
    lossy.play(speech)
    one, other = whole.pcm.astype(float), lossy.pcm.astype(float)
    assert len(one) == len(other)
    likeness = (one @ other) / np.sqrt((one @ one) * (other @ other))
    assert likeness > 0.93
    assert lossy.far.session.receiver.concealed > 0.1


@pytest.mark.parametrize("first", ["pcmu", "pcma", "g722", "opus"])
@pytest.mark.parametrize("then", ["pcmu", "g722", "opus"])
def test_a_codec_that_changes_within_a_call_keeps_the_rate_and_the_pitch(
    first: str, then: str
) -> None:
    """A transfer or a re-INVITE brings another codec; playout and hearing stay as they were."""
    it = wire(codecs=(first,))
    rate = it.near.form.rate
    it.play(tone(440, 1.0, rate))
    one, other = agreements(codecs=(then,))
    it.near.use(one, it.now)
    it.far.use(other, it.now)
    it.play(tone(440, 2.0, rate))
    assert it.near.form.rate == rate
    assert {frame.rate for frame in it.heard} == {rate}
    starts = [frame.start for frame in it.heard]
    assert starts == list(range(0, rate // 50 * len(starts), rate // 50))
    assert strength(it.pcm[-rate:], 440, rate) > 0.95
    assert len(it.pcm) == pytest.approx(3 * rate, abs=0.3 * rate)


def test_keys_are_pressed_in_the_clock_of_the_codec_that_is_used_now() -> None:
    it = wire()
    it.play(tone(440, 0.2))
    one, other = agreements(codecs=("opus",))
    it.near.use(one, it.now)
    it.far.use(other, it.now)
    it.play(tone(440, 0.2))
    before = len(it.packets)
    assert it.near.press("5")
    it.play(tone(440, 0.5))
    lengths = [
        int.from_bytes(packet.payload[2:4], "big")
        for packet in it.packets[before:]
        if packet.type == one.keys_send
    ]
    assert it.keys == "5"
    assert max(lengths) == 5760  # 120 ms of 48 kHz
