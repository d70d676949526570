"""Calls over loopback sockets in virtual time: aiortc at the page's end, our line at the other."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from gateway.caller.webrtc import REPORT_SECONDS
from gateway.events import CallerGone, CallerKey, CallerTyped, EndAsked, TransferEnded
from media.frame import FRAME_SECONDS
from media.level import level
from tests.gateway.lines.webrtc.harness import (
    Page,
    serving,
    until,
    visiting,
)
from tests.support.sip_answers import Parties, tone


def dominant(pcm: bytes, rate: int) -> float:
    """Return the strongest frequency."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float64)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(spectrum.argmax() * rate / len(samples))


# --- sound ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [16000, 24000])
async def test_the_agent_is_heard_at_the_calls_rate(rate: int) -> None:
    parties = Parties(sound=tone(440, 1.0, rate))
    async with serving(parties, rate=rate) as served, visiting(served) as page:
        await asyncio.sleep(3)
        party = parties.all[0]
        assert party.leg.info.rate == rate
        assert party.leg.info.codec == "l16"
        assert party.leg.info.negotiated == "opus"
        heard = page.heard()[-page.caller.rate * 2 :]
        assert abs(dominant(heard, page.caller.rate) - 440) < 3
        assert -20 < level(heard) < -10


async def test_the_visitor_is_heard_and_comes_back() -> None:
    parties = Parties(echo=True)
    async with serving(parties) as served, visiting(served) as page:
        voice = tone(600, 2.0, page.caller.rate)
        size = page.caller.rate // 50 * 2
        await asyncio.sleep(0.5)
        start = page.phone.schedule.ticks * size // 2
        for at in range(0, len(voice), size):
            page.browser.send(voice[at : at + size], start + at // 2)
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        rate = parties.all[0].leg.info.rate
        said = bytes(parties.all[0].heard)
        assert abs(dominant(said[-rate * 3 :], rate) - 600) < 3
        assert abs(dominant(page.heard()[-rate * 3 :], page.caller.rate) - 600) < 3


async def test_g711_is_spoken_where_nothing_else_is_wanted() -> None:
    async with serving(codecs=("pcma",)) as served:
        response = await served.offer()
        assert response.status_code == 201
        assert "PCMA/8000" in response.text
        assert "opus" not in response.text


# --- the ledger -----------------------------------------------------------------------------------


async def test_what_was_heard_is_known_from_the_pages_reports() -> None:
    parties = Parties(echo=False)
    async with serving(parties) as served, visiting(served) as page:
        await asyncio.sleep(1)
        leg = parties.all[0].leg
        loop = asyncio.get_running_loop()
        leg.playout.push(7, tone(500, 2.0, leg.info.rate))
        leg.playout.end(7)
        await asyncio.sleep(1.03)
        position = leg.playout.heard(7, loop.time())
        heard = sum(level(piece.payload) > -40 for piece in page.phone.tape.heard)
        assert position.basis == "acknowledged"
        assert abs(position.heard / leg.info.rate - heard / 50) < 0.03
        # All since the page's latest report is in doubt: the network may have broken just then.
        assert position.error / leg.info.rate < REPORT_SECONDS + FRAME_SECONDS + 0.02
        await asyncio.sleep(1.5)
        assert leg.playout.heard(7, loop.time()).finished


# --- the data channel ----------------------------------------------------------------------------


async def test_the_page_is_greeted_and_told_of_the_call() -> None:
    parties = Parties()
    async with serving(parties, call_seconds=900.0) as served, visiting(served) as page:
        await until(lambda: page.of("hello"))
        info = parties.all[0].leg.info
        hello = {"call": info.call_id, "agent": "desk", "seconds": 900.0}
        assert page.of("hello") == [hello]
        assert page.of("state") == [{"state": "listening"}]
        witness = parties.all[0].leg.witness  # type: ignore[attr-defined]
        witness.agent_began()
        witness.caption(1, "Good morning")
        await until(lambda: page.of("caption"))
        assert page.of("state")[-1] == {"state": "speaking"}
        assert page.of("caption")[0]["text"] == "Good morning"


async def test_what_the_visitor_types_and_presses_is_noticed() -> None:
    parties = Parties()
    async with serving(parties) as served, visiting(served) as page:
        await until(lambda: page.of("hello"))
        page.browser.say({"type": "text", "text": "  my car  "})
        page.browser.press("5")
        page.browser.say({"type": "text", "text": "   "})
        page.browser.say({"type": "nonsense"})
        party = parties.all[0]
        await until(lambda: len(party.events) == 2)
        assert party.events == [CallerTyped("my car"), CallerKey("5")]


async def test_a_muted_visitor_is_not_heard() -> None:
    parties = Parties(echo=False)
    async with serving(parties) as served, visiting(served) as page:
        await until(lambda: page.of("hello"))
        page.browser.say({"type": "mute", "muted": True})
        await asyncio.sleep(0.5)
        heard, voice = parties.all[0].heard, tone(600, 0.02, page.caller.rate)
        heard.clear()
        start = page.phone.schedule.ticks * len(voice) // 2
        for number in range(50):
            page.browser.send(voice, start + number * len(voice) // 2)
            await asyncio.sleep(0.02)
        assert heard
        assert not any(heard)


# --- ends ----------------------------------------------------------------------------------------


async def test_the_agent_hangs_up_and_the_page_is_told() -> None:
    parties = Parties()
    async with serving(parties) as served, visiting(served) as page:
        await until(lambda: page.of("hello"))
        parties.all[0].leg.hang_up("goodbye")
        async with asyncio.timeout(3):
            await page.phone.over.wait()
            await parties.all[0].gone.wait()
        assert page.phone.outcome == ("agent", "goodbye")
        assert parties.all[0].events[-1] == CallerGone("goodbye")
        await until(lambda: not served.line.calls.sessions, 5)


async def test_the_page_hangs_up() -> None:
    parties = Parties()
    async with serving(parties) as served:
        async with visiting(served):
            party = await parties.next()
        await party.gone.wait()
        assert party.events[-1] == CallerGone("caller hung up")
        assert not served.line.calls.sessions


async def test_a_page_that_vanishes_is_noticed_within_fifteen_seconds() -> None:
    parties = Parties()
    async with serving(parties) as served:
        page = Page(served)
        await page.browser.connect()
        await asyncio.sleep(2)
        loop = asyncio.get_running_loop()
        vanished = loop.time()
        page.phone.schedule.stop()
        await cut(page)
        async with asyncio.timeout(15):
            await parties.all[0].gone.wait()
        assert loop.time() - vanished > 10
        assert parties.all[0].events[-1] == CallerGone("connection lost", True)
        await until(lambda: not served.line.calls.sessions, 5)
        await page.browser.close()


async def cut(page: Page) -> None:
    """Take a page's network away: no packet of it goes or comes."""
    for ice in page.browser.connections():
        for protocol in list(ice._protocols):
            protocol.transport.close()
        if ice._query_consent_task is not None:
            ice._query_consent_task.cancel()


async def test_a_call_that_lasts_too_long_is_brought_to_its_end() -> None:
    parties = Parties()
    async with serving(parties) as served:
        token = await served.token(seconds=3)
        async with visiting(served, token):
            party = await parties.next()
            await asyncio.sleep(4)
            assert party.events == [
                EndAsked("The time for this call is over. Goodbye.", "time limit")
            ]


async def test_a_call_is_not_put_through_to_a_telephone() -> None:
    parties = Parties()
    async with serving(parties) as served, visiting(served):
        party = await parties.next()
        party.leg.transfer("+15550100", "")
        await until(lambda: party.transfer)
        assert isinstance(party.transfer, TransferEnded)
        assert not party.transfer.accepted


async def test_an_answer_that_nobody_takes_up_is_forgotten() -> None:
    async with serving(connect_seconds=5.0) as served:
        assert (await served.offer()).status_code == 201
        assert len(served.line.calls.sessions) == 1
        await asyncio.sleep(6)
        assert not served.line.calls.sessions
        assert not served.parties.all


async def test_a_gateway_that_stops_takes_its_calls_down() -> None:
    parties = Parties()
    async with serving(parties) as served, visiting(served):
        party = await parties.next()
        served.line.stop()
        async with asyncio.timeout(5):
            await party.gone.wait()
        assert (await served.offer()).status_code == 503


async def test_a_page_that_reports_nothing_is_not_waited_for() -> None:
    """Where nobody says what was played, the ledger goes by its model, and says so."""

    parties = Parties(echo=False)
    async with serving(parties) as served, visiting(served) as page:
        page.browser.say = lambda message: None  # type: ignore[method-assign]
        await asyncio.sleep(3)
        leg = parties.all[0].leg
        loop = asyncio.get_running_loop()
        leg.playout.push(7, tone(500, 1.0, leg.info.rate))
        leg.playout.end(7)
        await asyncio.sleep(1.2)
        position = leg.playout.heard(7, loop.time())
        assert position.basis == "estimated"
        assert position.finished
