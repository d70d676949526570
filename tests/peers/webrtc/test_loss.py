"""Five percent of the visitor's packets are lost in bursts: the words are still understood."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import uvloop

from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.plan import CallPlan, Say
from gateway.caller.sound import load
from gateway.caller.webrtc import WebrtcCaller
from tests.peers.webrtc.gateway import Gateway, gateway

pytestmark = pytest.mark.slow

SPEECH = Path(__file__).parents[2] / "data/speech"
SAID = ("complete/tel_ibm2_howcanihelp.flac", "demo/tel_ar40_caller_light.flac")

TIMES, BURST = 60, 3
"""Three packets in a row of each sixty: 5 %, and never one alone."""


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z']+", text.lower()))


def heard(served: Gateway, loses: bool) -> list[set[str]]:
    """Say two sentences; give the words that were understood, and see that the line knows."""
    caller = WebrtcCaller(
        f"{served.url}/webrtc/workshop",
        loses=(lambda frame: frame % TIMES < BURST) if loses else None,
    )
    steps = tuple(Say(load(SPEECH / name, caller.rate)) for name in SAID)
    before = len(served.calls())

    async def work() -> Phone:
        phone = Phone(CallPlan(steps, linger=1.0), caller.form, NetworkSettings())
        await caller.call("loss", phone)
        return phone

    # In a thread: where a browser is driven beside this test, the main one has a loop already.
    with ThreadPoolExecutor(1) as thread:
        phone = thread.submit(lambda: uvloop.run(work())).result()
    assert phone.outcome == ("caller", "done"), phone.outcome
    lines = served.lines(served.calls()[before])
    return [words(line.text("text")) for line in lines if line.event == "caller_spoke"]


def test_words_are_understood_although_packets_are_lost(tmp_path: Path) -> None:
    with gateway(tmp_path / "gateway") as served:
        whole, lossy = heard(served, False), heard(served, True)
    assert len(whole) == len(lossy) == len(SAID)
    for wanted, understood in zip(whole, lossy, strict=True):
        assert len(wanted & understood) >= 0.7 * len(wanted), (wanted, understood)
