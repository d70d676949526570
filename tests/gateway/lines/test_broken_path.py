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
from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import SipSettings
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
from tests.support.owner import DOORS
from tests.support.relay import Gap, TcpRelay, UdpRelay, Way, Weather
from tests.support.sip_phone import PCMU, SipPhone
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


# --- SIP: packets, and nobody who says what was heard --------------------------------------------


class RelayedPhone(SipPhone):
    """A telephone whose only way to the gateway's sound is a relay."""

    def __init__(self, port: int, relay: UdpRelay) -> None:
        super().__init__(port)
        self.relay = relay
        self.named: tuple[str, int] | None = None
        "where its description says that it is, if not where it is"

    def _described(self, direction: str, host: str) -> str:
        host, port = self.named or (host, self.relay.back)
        return re.sub(r"m=audio \d+", f"m=audio {port}", super()._described(direction, host))

    async def _offer(self, direction: str, host: str) -> None:
        await super()._offer(direction, host)
        self.relay.gateway, self._sound.far = self._sound.far, ("127.0.0.1", self.relay.front)

    def ear(self) -> Recording:
        """Return what was heard."""
        return Recording(self._sound.heard, 8000)


@asynccontextmanager
async def sip_phone(
    weather: Weather, named: tuple[str, int] | None = None
) -> AsyncIterator[tuple[RelayedPhone, Speaker]]:
    speakers, ready = Speakers(), asyncio.Event()
    settings = SipSettings(host="127.0.0.1", udp=0, tcp=None)
    async with asyncio.TaskGroup() as group:
        line = SipLine(settings, speakers, DOORS, default_agent="desk")
        serving_sip = group.create_task(line.run(ready.set))
        await ready.wait()
        speakers.pacer.start()
        relay = UdpRelay(weather)
        await relay.open()
        phone = RelayedPhone(line.network.port("udp"), relay)
        phone.named = named
        try:
            await phone.call()
            weather.begin()
            yield phone, await speakers.next()
        finally:
            phone.close()
            relay.close()
            serving_sip.cancel()
            await asyncio.sleep(0.1)
            speakers.pacer.stop()


@pytest.mark.parametrize("seed", seeds(3, 40))
async def test_a_telephone_behind_a_network_that_breaks_or_changes(seed: int) -> None:
    """Without RTCP only what comes from there shows that somebody is there: both ways break."""
    random = Random(seed)
    weather = Weather(
        random,
        random.uniform(0.005, 0.05),
        jitter=random.uniform(0.0, 0.02),
        loss=random.choice((0.0, 0.02)),
        reorder=random.choice((0.0, 0.02)),
        gaps=gaps(random, 4.0, both=True),
    )
    async with sip_phone(weather) as (phone, speaker):
        await asyncio.sleep(random.uniform(1.0, SECONDS))
        if random.random() < 0.5:
            await phone.relay.move()
        elif random.random() < 0.5:
            speaker.cut()
        await asyncio.sleep(SECONDS + 4.0)
        judge(speaker.claims, phone.ear())


@pytest.mark.parametrize("silent", [0.0, 0.7])
async def test_nothing_is_said_to_an_address_that_is_nobodys(silent: float) -> None:
    weather = Weather(gaps=(Gap(0.0, silent),))
    async with sip_phone(weather, ("127.99.0.1", 4000)) as (phone, speaker):
        await asyncio.sleep(SECONDS + 3.0)
        ear = phone.ear()
        judge(speaker.claims, ear)
        assert ear.heard(inf) > SECONDS - 0.05
        assert not ear.holes()


async def test_what_is_said_where_nobody_ever_answers_is_in_doubt() -> None:
    async with sip_phone(Weather(gaps=(Gap(0.0, 60.0),)), ("127.99.0.1", 4000)) as (_, speaker):
        await asyncio.sleep(4.0)
        last = speaker.claims[-1]
        assert last.heard > 2.0
        assert last.error >= last.heard


# --- WebRTC: packets, and a page that says what it plays ------------------------------------------


class RelayedBrowser(Browser):
    """A page whose only way to the gateway is a relay."""

    relay: UdpRelay

    async def _ask(self, offer: str) -> str:
        answer = await super()._ask(re.sub(r"a=candidate:.*\r\n", "", offer))
        (port,) = set(re.findall(r"a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 (\d+)", answer))
        self.relay.gateway = ("127.0.0.1", int(port))
        return answer.replace(f" {port} ", f" {self.relay.front} ")


OPUS = 0.045
"""Seconds by which a place is read wrong: the codec looks ahead, and blurs what follows a loss."""

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
        judge(speaker.claims, visitor.recording(), OPUS)


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
        judge(speaker.claims, ear, OPUS)
        assert ear.heard(inf) > SECONDS - 0.05
        assert not ear.holes()
