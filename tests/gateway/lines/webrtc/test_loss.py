"""What loss does to a call's delay: nothing that stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.plan import CallPlan, Say
from gateway.caller.sound import load, recording
from gateway.caller.webrtc import Browser, WebrtcCaller
from tests.gateway.lines.webrtc.harness import serving, until
from tests.support.sip_answers import Parties

SPEECH = Path(__file__).parents[3] / "data/speech/complete"
RATE = 24000

BEGINS, ENDS = 5.0, 25.0
"""Seconds of the call in which packets are lost."""

TIMES, BURST = 60, 3
"""Three packets in a row of each sixty: 5 %, and never one alone."""

AGAIN = 2.0
"""Seconds after which the delay is what it was before."""


def samples(pcm: bytes) -> np.ndarray:
    return np.frombuffer(pcm, "<i2").astype(np.float64)


def delay(spoken: bytes, heard: bytes, at: float) -> float:
    """Say how much later than it was spoken the second from `at` on was heard, in seconds."""
    piece = samples(spoken)[round(at * RATE) : round((at + 1) * RATE)]
    place = samples(heard)[round((at - 0.5) * RATE) : round((at + 2) * RATE)]
    return float(np.argmax(np.correlate(place[::4], piece[::4]))) * 4 / RATE - 0.5


def talk(seconds: float) -> bytes:
    """Return speech without a pause, so that there is always something to compare."""
    voices = [samples(load(path, RATE).pcm) for path in sorted(SPEECH.glob("*.flac"))]
    pieces = np.concatenate([one[: len(one) // 480 * 480] for one in voices]).reshape(-1, 480)
    loud = pieces[np.sqrt(np.mean(pieces**2, axis=1)) > 300].ravel()
    return np.resize(loud, round(seconds * RATE)).astype("<i2").tobytes()


async def test_after_a_lossy_time_the_delay_is_what_it_was_before() -> None:
    """Of the visitor's voice, from the microphone to what the call hears."""
    spoken = talk(ENDS + 6)
    lost: list[int] = []

    def loses(frame: int) -> bool:
        gone = BEGINS <= frame / 50 < ENDS and (frame - 50 * BEGINS) % TIMES < BURST
        lost.extend([frame] if gone else [])
        return gone

    parties = Parties(echo=False)
    async with serving(parties) as served:
        caller = WebrtcCaller(served.url, rate=RATE, loses=loses)
        plan = CallPlan((Say(recording("speech", spoken, RATE)),), greeting=0.0)
        browser = Browser(caller, Phone(plan, caller.form, NetworkSettings()))
        try:
            await browser.connect()
            party = await parties.next()
            await until(lambda: len(party.heard) >= len(spoken), 60)
        finally:
            await browser.close()
        heard = bytes(party.heard)
    assert len(lost) >= 0.05 * 50 * (ENDS - BEGINS)
    before = [delay(spoken, heard, at) for at in (2.0, 3.0)]
    after = [delay(spoken, heard, ENDS + AGAIN + at) for at in (0.0, 1.0)]
    print(f"delay before {before}, after {after}")
    assert before[0] == pytest.approx(before[1], abs=0.002)
    assert after == pytest.approx(before, abs=0.02)
