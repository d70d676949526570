"""The caller's ear: when the agent is heard, and when it is not any more."""

from __future__ import annotations

from gateway.caller.ear import Ear
from gateway.caller.plan import AgentBegan, AgentSilent
from tests.gateway.caller.agent import tone

FRAME = tone(0.02)
QUIET = bytes(320)


def test_the_agent_begins_once_and_falls_once() -> None:
    ear = Ear(8000)
    assert ear.hear(QUIET, 0) is None
    assert ear.hear(FRAME, 160) == AgentBegan(0.02)
    assert ear.hear(FRAME, 320) is None
    assert ear.pass_time(480) is None
    assert ear.pass_time(480 + 1599) is None
    assert ear.pass_time(480 + 1600) == AgentSilent(0.06)
    assert ear.pass_time(9999) is None
    assert ear.hear(FRAME, 16000) == AgentBegan(2.0)


def test_short_pauses_are_inside_words() -> None:
    ear = Ear(8000)
    ear.hear(FRAME, 0)
    assert ear.pass_time(1600) is None
    assert ear.hear(FRAME, 1600) is None
    assert ear.pass_time(3200) is None
