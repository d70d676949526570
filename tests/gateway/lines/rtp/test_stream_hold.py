"""A media stream on hold, and when it goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.lines.rtp.packet import is_rtcp
from tests.gateway.lines.rtp.test_stream import TICK, wire
from tests.support.sip_answers import tone


def test_on_hold_nothing_is_heard_and_nothing_sent() -> None:
    it = wire()
    it.play(tone(440, 0.5))
    held = replace(it.far.agreement, direction="recvonly")
    it.far.use(held, it.now)
    assert not it.far.sends
    sent = it.far.tick(it.now, (), False)
    assert all(is_rtcp(one.data) for one in sent)
    before = len(it.heard)
    it.play(tone(440, 0.5))
    assert not any(any(frame.pcm) for frame in it.heard[before + 1 :])


def test_the_clock_goes_on_through_a_hold() -> None:
    it = wire()
    it.play(tone(440, 0.5))
    before, count = it.packets[-1], len(it.packets)
    both = it.near.agreement
    it.near.use(replace(both, direction="recvonly"), it.now)
    for _ in range(150):
        it.tick()
    assert len(it.packets) == count
    it.near.use(both, it.now)
    it.play(tone(440, 0.5))
    after = it.packets[count]
    assert after.marker
    assert (after.sequence - before.sequence) & 0xFFFF == 1
    # 3 s were held: what follows is no later than what came before.
    assert ((after.timestamp - before.timestamp) & 0xFFFFFFFF) / 8000 == pytest.approx(3.02)


def test_held_by_address_nothing_at_all_is_sent() -> None:
    it = wire()
    it.play(tone(440, 0.2))
    nowhere = ("0.0.0.0", 6000)
    held = replace(
        it.far.agreement,
        direction="recvonly",
        remote=nowhere,
        remote_rtcp=("0.0.0.0", 6001),
        rtcp_mux=False,
    )
    it.far.use(held, it.now)
    sent = [one for step in range(1500) for one in it.far.tick(it.now + step * TICK, (), False)]
    assert sent == []
    assert it.far.goodbye(it.now + 30.0) == []
