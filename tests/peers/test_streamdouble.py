"""streamdouble, a simulator of Twilio's side that no one here wrote, calls the Twilio line."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from gateway.events import CallerGone
from gateway.lines.twilio.settings import TwilioSettings
from tests.gateway.caller.agent import Agent, Manners, tone
from tests.gateway.lines.twilio.harness import serving

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(find_spec("streamdouble") is None, reason="streamdouble is not installed"),
]


OPEN = TwilioSettings(require_signature=False)
"""It shows nothing that says who it is."""


def call(agent: Agent, audio: Path, *options: str) -> dict[str, Any]:
    async def story() -> bytes:
        async with serving(OPEN, agent, settle=0.2) as served:  # type: ignore[arg-type]
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "streamdouble.cli",
                *("call", served.url, "--audio", str(audio), "--json", *options),
                stdout=asyncio.subprocess.PIPE,
            )
            async with asyncio.timeout(40):
                out, _ = await process.communicate()
            return out

    document: dict[str, Any] = json.loads(asyncio.run(story()))
    return document


@pytest.fixture
def audio(tmp_path: Path) -> Path:
    path = tmp_path / "caller.wav"
    sound = np.frombuffer(tone(0.6, 300) + bytes(16000), dtype="<i2")
    soundfile.write(path, sound, 8000)
    return path


def test_a_whole_call(audio: Path, tmp_path: Path) -> None:
    agent = Agent(Manners(greeting=0.0, reply=0.7))
    out = tmp_path / "out.wav"
    report = call(agent, audio, "--out", str(out), "--param", "tenant=acme")
    assert report["violations"] == []
    assert report["unknown_events"] == []
    assert report["audio_received_ms"] == 700.0
    assert report["marks_received"] == report["marks_echoed"] == 8
    (heard,) = agent.calls
    assert heard.leg.info.variables["tenant"] == "acme"
    assert [frame.start for frame in heard.frames][:3] == [0, 160, 320]
    assert isinstance(heard.events[-1], CallerGone)
    assert not heard.events[-1].failure
    # Every utterance was confirmed to its last sample by the peer's own marks.
    position = heard.leg.playout.heard(1, time.monotonic())
    assert (position.heard, position.finished) == (5600, True)
    samples, _ = soundfile.read(out, dtype="int16")
    loud = np.flatnonzero(np.abs(samples) > 1000)
    assert (loud[-1] - loud[0]) / 8000 == pytest.approx(0.7, abs=0.02)


def test_a_cut_in_is_cleared(audio: Path) -> None:
    agent = Agent(Manners(greeting=4.0, reply=0.3))
    report = call(agent, audio)
    assert report["violations"] == []
    assert report["clears_received"] == 1
    (position,) = agent.calls[0].cut
    # The peer speaks at once, and 0.2 s of it stop the agent, which is ahead by 0.1 s.
    assert 0.1 < position.heard / 8000 < 0.4
    assert report["audio_received_ms"] < 1000
