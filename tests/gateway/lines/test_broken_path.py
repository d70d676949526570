"""What was heard over relays that break the path, on every line, judged by the far end's recording.

The seed of a run that fails is in its name; `make test-paths` tries many more of them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from math import inf
from random import Random

import pytest

from gateway.caller.webrtc import Browser
from tests.gateway.lines.broken_path import (
    SECONDS,
    Recording,
    Speaker,
    Speakers,
    gaps,
    judge,
)
from tests.gateway.lines.twilio.harness import far_end as twilio_end
from tests.gateway.lines.twilio.harness import serving as serving_twilio
from tests.gateway.lines.webrtc.harness import Page, Served, serving
from tests.support.relay import Gap, TcpRelay, UdpRelay, Way, Weather
from tests.support.sip_phone import PCMU
from tests.support.telephone import Telephone


def seeds(few: int, many: int) -> list[object]:
    """Return some seeds for every day, and many for `make test-paths`."""
    wide = (pytest.param(seed, marks=pytest.mark.wide) for seed in range(few, many))
    return [*range(few), *wide]


# --- Twilio: a connection, which loses nothing and stands still ----------------------------------


@asynccontextmanager
async def telephone(weather: Weather) -> AsyncIterator[tuple[Telephone, Speaker]]:
    speakers = Speakers()
    async with (
        serving_twilio(answer=speakers) as served,  # type: ignore[arg-type]
        asyncio.TaskGroup() as group,
    ):
        speakers.pacer.start()
        relay = TcpRelay(weather, served.port, group)
        await relay.open()
        async with twilio_end(replace(served, port=relay.port)) as far:
            phone = Telephone(far)
            await far.start()
            weather.begin()
            tasks = [group.create_task(one) for one in (phone.listen(), phone.speak())]
            try:
                yield phone, await speakers.next()
            finally:
                for task in tasks:
                    task.cancel()
                speakers.pacer.stop()
                relay.close()


@pytest.mark.parametrize("seed", seeds(3, 40))
async def test_a_telephone_behind_a_connection_that_stands_still(seed: int) -> None:
    random = Random(seed)
    weather = Weather(random, random.uniform(0.005, 0.08), 0.01, gaps=gaps(random, 3.0))
    async with telephone(weather) as (phone, speaker):
        await asyncio.sleep(random.uniform(1.0, SECONDS))
        if random.random() < 0.5:
            speaker.cut()
        await asyncio.sleep(SECONDS + 4.0)
        phone.play()
        judge(speaker.claims, Recording(((w, PCMU.decode(p)) for w, p in phone.started), 8000))


# --- WebRTC: packets, and a page that says what it plays ------------------------------------------


class RelayedBrowser(Browser):
    """A page whose only way to the gateway is a relay."""

    relay: UdpRelay

    async def _ask(self, offer: str) -> str:
        answer = await super()._ask(re.sub(r"a=candidate:.*\r\n", "", offer))
        (port,) = set(re.findall(r"a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+)", answer))
        self.relay.gateway = ("127.0.0.1", int(port))
        return answer.replace(f" {port} ", f" {self.relay.front} ")


BOTH: tuple[Way, ...] = ("up", "down")


@asynccontextmanager
async def page(weather: Weather) -> AsyncIterator[tuple[Page, Speaker]]:
    speakers = Speakers()
    async with serving(speakers) as served:
        relay = UdpRelay(weather)
        await relay.open()
        visitor = RelayedPage(served)
        visitor.browser.relay = relay
        try:
            await visitor.browser.connect()
            speaker = await speakers.next()
            weather.begin()
            yield visitor, speaker
        finally:
            visitor.phone.end("caller", "page closed")
            await visitor.browser.close()
            relay.close()


class RelayedPage(Page):
    """A visitor behind a relay."""

    browser: RelayedBrowser

    def __init__(self, served: Served) -> None:
        super().__init__(served)
        self.browser = RelayedBrowser(self.caller, self.phone, self.messages.append)

    def recording(self) -> Recording:
        """Return what was heard."""
        loop, rate = asyncio.get_running_loop(), self.caller.rate
        answered = loop.time() - self.phone.now
        pieces = ((answered + p.start / rate, p.payload) for p in self.phone.tape.heard)
        return Recording(pieces, rate)


@pytest.mark.parametrize("seed", seeds(3, 40))
async def test_a_page_behind_a_network_that_breaks(seed: int) -> None:
    random = Random(seed)
    weather = Weather(
        random,
        random.uniform(0.005, 0.08),
        jitter=random.uniform(0.0, 0.02),
        loss=random.choice((0.0, 0.02, 0.1)),
        gaps=gaps(random, 4.0),
    )
    async with page(weather) as (visitor, speaker):
        await asyncio.sleep(random.uniform(1.0, SECONDS))
        if random.random() < 0.5:
            speaker.cut()
        await asyncio.sleep(SECONDS + 4.0)
        judge(speaker.claims, visitor.recording())


@pytest.mark.parametrize(
    ("seconds", "ways"),
    [(4.0, ("down",)), (9.0, ("down",)), (1.5, BOTH), (4.0, BOTH), (9.0, BOTH)],
)
async def test_nothing_of_a_sentence_is_missed_when_the_network_is_back(
    seconds: float, ways: tuple[Way, ...]
) -> None:
    weather = Weather(gaps=(Gap(2.0, 2.0 + seconds, ways),))
    async with page(weather) as (visitor, speaker):
        await asyncio.sleep(SECONDS + seconds + 5.0)
        ear = visitor.recording()
        judge(speaker.claims, ear)
        assert ear.heard(inf) > SECONDS - 0.05
        assert not ear.holes()
