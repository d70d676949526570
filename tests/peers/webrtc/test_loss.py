"""Five percent of the visitor's packets are lost in bursts: the words are still understood."""

from __future__ import annotations

import csv
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
import uvloop

from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.plan import CallPlan, Say
from gateway.caller.sound import load
from gateway.caller.webrtc import WebrtcCaller
from tests.peers.webrtc.gateway import Gateway
from tests.peers.webrtc.site import Site
from tests.peers.webrtc.visitor import SPEECH

SAID = (
    "complete/tel_ibm2_howcanihelp.flac",
    "complete/tel_ar40_agent_anything.flac",
    "demo/tel_ar40_caller_light.flac",
)

TIMES, BURST = 60, 3
"""Three packets in a row of each sixty: 5 %, and never one alone."""

SECONDS = 20.0


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z']+", text.lower()))


def spoken() -> list[set[str]]:
    """Return the words of what is said."""
    with (SPEECH / "manifest.csv").open() as file:
        said = {row["file"]: words(row["transcript"]) for row in csv.DictReader(file)}
    return [said[name] for name in SAID]


@pytest.mark.wide
def test_words_are_understood_although_packets_are_lost(served: Gateway, home: Site) -> None:
    lost: list[int] = []

    def loses(frame: int) -> bool:
        gone = frame % TIMES < BURST
        if gone:
            lost.append(frame)
        return gone

    caller = WebrtcCaller(f"{served.url}/webrtc/workshop", home.token(), home.url, loses=loses)
    steps = tuple(Say(load(SPEECH / name, caller.rate)) for name in SAID)

    async def call() -> Phone:
        phone = Phone(CallPlan(steps, linger=1.0), caller.form, NetworkSettings())
        await caller.call("loss", phone)
        return phone

    # In a thread: where a browser is driven beside this test, the main one has a loop already.
    with ThreadPoolExecutor(1) as thread:
        phone = thread.submit(lambda: uvloop.run(call())).result()

    assert phone.outcome == ("caller", "done"), phone.outcome
    assert lost[-1] - lost[0] >= SECONDS * 50
    assert all(b - a in (1, TIMES - BURST + 1) for a, b in pairwise(lost))
    lines = served.lines(served.calls()[-1])
    heard = [words(line.fields["text"]) for line in lines if line.event == "caller_spoke"]
    assert len(heard) == len(SAID)
    understood = [a & b for a, b in zip(spoken(), heard, strict=True)]
    # Over all: where the bursts fall is not the test's to say.
    assert sum(map(len, understood)) >= 0.65 * sum(map(len, spoken())), heard
