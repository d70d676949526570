"""Calls whose sound is taken elsewhere while the old stream goes on, judged at both ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import SipSettings
from tests.support.owner import DOORS
from tests.support.sip_answers import Parties, Party, tone
from tests.support.sip_phone import SipPhone

VOICE, AGENT = 700.0, 440.0


@asynccontextmanager
async def calling() -> AsyncIterator[tuple[SipPhone, Party]]:
    parties, ready = Parties(sound=tone(AGENT, 1.0)), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        line = SipLine(
            SipSettings(host="127.0.0.1", udp=0, tcp=None), parties, DOORS, default_agent="desk"
        )
        serving = group.create_task(line.run(ready.set))
        await ready.wait()
        parties.pacer.start()
        phone = SipPhone(line.network.port("udp"))
        try:
            await phone.call()
            yield phone, await parties.next()
        finally:
            phone.close()
            serving.cancel()
            await asyncio.sleep(0.1)
            parties.pacer.stop()


def share(pcm: bytes, hertz: float) -> float:
    """Return how much of a sound is a tone."""
    samples = np.frombuffer(pcm, "<i2").astype(float)
    if not samples.any():
        return 0.0
    power = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    near = np.abs(np.fft.rfftfreq(len(samples), 1 / 8000) - hertz) < 30
    return float(power[near].sum() / power.sum())


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize("lingers", [0.25, None])
@pytest.mark.parametrize("silent", [0.0, 0.6])
async def test_sound_follows_the_newest_description_at_once(
    host: str, lingers: float | None, silent: float
) -> None:
    async with calling() as (phone, party):
        await asyncio.sleep(1.0)
        await phone.move(host, lingers, silent)
        phone.say(tone(VOICE, 3.0))
        await asyncio.sleep(3.0)
        mouth, ear = bytes(party.heard[-2 * 8000 * 2 :]), phone.recording()
        assert len(ear) > 2 * 8000 * 2.9
        assert share(ear, AGENT) > 0.9
        assert share(mouth, VOICE) > 0.9
