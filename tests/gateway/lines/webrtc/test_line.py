"""Calls over loopback sockets in virtual time: aiortc at the page's end, our line at the other."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from gateway.caller.webrtc import RefusedError
from gateway.events import CallerGone, CallerKey, CallerTyped, EndAsked, TransferEnded
from gateway.ports import Refusal
from media.level import level
from tests.gateway.lines.webrtc.harness import (
    KEY,
    SITE,
    Page,
    browser_offer,
    serving,
    until,
    visiting,
)
from tests.support.sip_answers import Parties, tone
from tests.support.virtual_time import run


def dominant(pcm: bytes, rate: int) -> float:
    """Give the strongest frequency."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float64)
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(spectrum.argmax() * rate / len(samples))


# --- sound ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [16000, 24000])
def test_the_agent_is_heard_at_the_calls_rate(rate: int) -> None:
    async def work() -> None:
        parties = Parties(sound=tone(440, 1.0, rate))
        async with serving(parties, rate=rate) as served, visiting(served) as page:
            await asyncio.sleep(3)
            party = parties.all[0]
            assert party.leg.info.rate == rate
            assert party.leg.info.codec == "l16"
            heard = page.heard()[-page.caller.rate * 2 :]
            assert abs(dominant(heard, page.caller.rate) - 440) < 3
            assert -20 < level(heard) < -10

    run(work())


def test_the_visitor_is_heard_and_comes_back() -> None:
    async def work() -> None:
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

    run(work())


def test_g711_is_spoken_where_nothing_else_is_wanted() -> None:
    async def work() -> None:
        async with serving(codecs=("pcma",)) as served:
            response = await served.offer()
            assert response.status_code == 201
            assert "PCMA/8000" in response.text
            assert "opus" not in response.text

    run(work())


# --- the ledger -----------------------------------------------------------------------------------


def test_what_was_heard_is_known_from_the_pages_reports() -> None:
    async def work() -> None:
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
            assert position.error / leg.info.rate < 0.08
            await asyncio.sleep(1.5)
            assert leg.playout.heard(7, loop.time()).finished

    run(work())


# --- the data channel ----------------------------------------------------------------------------


def test_the_page_is_greeted_and_told_of_the_call() -> None:
    async def work() -> None:
        parties = Parties()
        async with serving(parties, call_seconds=900.0) as served, visiting(served) as page:
            await until(lambda: page.of("hello"))
            info = parties.all[0].leg.info
            hello = {"call": info.call_id, "agent": "desk", "seconds": 900.0}
            assert page.of("hello") == [hello]
            assert page.of("state") == [{"state": "listening"}]
            witness = parties.all[0].leg.witness  # type: ignore[attr-defined]
            witness.observe("agent_began", {"utterance": 1})
            witness.caption(1, "Good morning")
            await until(lambda: page.of("caption"))
            assert page.of("state")[-1] == {"state": "speaking"}
            assert page.of("caption")[0]["text"] == "Good morning"

    run(work())


def test_what_the_visitor_types_and_presses_is_noticed() -> None:
    async def work() -> None:
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

    run(work())


def test_a_muted_visitor_is_not_heard() -> None:
    async def work() -> None:
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

    run(work())


# --- ends ----------------------------------------------------------------------------------------


def test_the_agent_hangs_up_and_the_page_is_told() -> None:
    async def work() -> None:
        parties = Parties()
        async with serving(parties) as served, visiting(served) as page:
            await until(lambda: page.of("hello"))
            parties.all[0].leg.hang_up("goodbye")
            async with asyncio.timeout(3):
                await page.phone.over.wait()
                await parties.all[0].gone.wait()
            assert page.phone.outcome == ("agent", "goodbye")
            assert parties.all[0].events[-1] == CallerGone("goodbye")
            await until(lambda: not served.line.sessions, 5)

    run(work())


def test_the_page_hangs_up() -> None:
    async def work() -> None:
        parties = Parties()
        async with serving(parties) as served:
            async with visiting(served):
                party = await parties.next()
            await party.gone.wait()
            assert party.events[-1] == CallerGone("caller hung up")
            assert not served.line.sessions

    run(work())


def test_a_page_that_vanishes_is_noticed_within_fifteen_seconds() -> None:
    async def work() -> None:
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
            await until(lambda: not served.line.sessions, 5)
            await page.browser.close()

    run(work())


async def cut(page: Page) -> None:
    """Take a page's network away: no packet of it goes or comes."""
    for ice in page.browser.connections():
        for protocol in list(ice._protocols):
            protocol.transport.close()
        if ice._query_consent_task is not None:
            ice._query_consent_task.cancel()


def test_a_call_that_lasts_too_long_is_brought_to_its_end() -> None:
    async def work() -> None:
        parties = Parties()
        async with serving(parties) as served:
            token = await served.token(seconds=3)
            async with visiting(served, token):
                party = await parties.next()
                await asyncio.sleep(4)
                assert party.events == [
                    EndAsked("The time for this call is over. Goodbye.", "time limit")
                ]

    run(work())


def test_a_call_is_not_put_through_to_a_telephone() -> None:
    async def work() -> None:
        parties = Parties()
        async with serving(parties) as served, visiting(served):
            party = await parties.next()
            party.leg.transfer("+15550100", "")
            await until(lambda: party.transfer)
            assert isinstance(party.transfer, TransferEnded)
            assert not party.transfer.accepted

    run(work())


def test_an_answer_that_nobody_takes_up_is_forgotten() -> None:
    async def work() -> None:
        async with serving(connect_seconds=5.0) as served:
            assert (await served.offer()).status_code == 201
            assert len(served.line.sessions) == 1
            await asyncio.sleep(6)
            assert not served.line.sessions
            assert not served.parties.all

    run(work())


def test_a_gateway_that_stops_takes_its_calls_down() -> None:
    async def work() -> None:
        parties = Parties()
        async with serving(parties) as served, visiting(served):
            party = await parties.next()
            served.line.stop()
            async with asyncio.timeout(5):
                await party.gone.wait()
            assert (await served.offer()).status_code == 503

    run(work())


# --- who may call --------------------------------------------------------------------------------


def test_a_token_of_the_sites_server_opens_one_call() -> None:
    async def work() -> None:
        parties = Parties()
        async with serving(parties, origins=(SITE,), local=False) as served:
            token = await served.token(origin=SITE, caller="Ada", metadata={"order": 7})
            async with visiting(served, token, origin=SITE):
                info = (await parties.next()).leg.info
                assert info.caller == "Ada"
                assert info.variables == {"origin": SITE, "order": 7}
                again = await served.offer(token=token, Origin=SITE)
                assert again.status_code == 401
                assert again.json()["kind"] == "token_used"
                assert again.headers["www-authenticate"] == "Bearer"
                assert again.headers["access-control-allow-origin"] == SITE
            bare = await served.offer(Origin=SITE)
            assert (bare.status_code, bare.json()["kind"]) == (401, "token_missing")

    run(work())


def test_a_token_is_not_used_up_by_a_call_that_cannot_be() -> None:
    async def work() -> None:
        parties = Parties()
        async with serving(parties, local=False) as served:
            token = await served.token()
            assert (await served.offer("v=0\r\n", token)).status_code == 400
            parties.refusal = Refusal("busy", 7, "All lines are busy.")
            busy = await served.offer(token=token)
            assert busy.status_code == 503
            assert busy.headers["retry-after"] == "7"
            assert busy.json() == {
                "title": "All lines are busy.",
                "status": 503,
                "kind": "busy",
                "retry_after": 7,
            }
            parties.refusal = None
            assert (await served.offer(token=token)).status_code == 201

    run(work())


def test_pages_of_other_origins_learn_nothing() -> None:
    async def work() -> None:
        async with serving(origins=(SITE,), public=True) as served:
            other = await served.offer(Origin="https://evil.example")
            assert other.status_code == 403
            assert "access-control-allow-origin" not in other.headers
            ask = {"Access-Control-Request-Method": "POST"}
            for origin, allowed in ((SITE, SITE), ("https://evil.example", None)):
                preflight = await served.client.options(
                    served.url, headers={"Origin": origin, **ask}
                )
                assert preflight.status_code == 204
                assert preflight.headers.get("access-control-allow-origin") == allowed
                assert "Origin" in preflight.headers["vary"]
            assert (
                "PATCH"
                in (
                    await served.client.options(served.url, headers={"Origin": SITE, **ask})
                ).headers["access-control-allow-methods"]
            )

    run(work())


def test_public_callers_are_limited() -> None:
    async def work() -> None:
        async with serving(
            origins=(SITE,), public=True, local=False, public_per_address=1
        ) as served:
            first = await served.offer(Origin=SITE)
            assert first.status_code == 201
            second = await served.offer(Origin=SITE)
            assert second.status_code == 429
            assert second.json()["kind"] == "too_many_calls"
            assert int(second.headers["retry-after"]) > 0
            base = served.url.rsplit("/webrtc", 1)[0]
            await served.client.delete(base + first.headers["location"], headers={"Origin": SITE})
            await asyncio.sleep(20)  # nobody ever connected
            assert (await served.offer(Origin=SITE)).status_code == 201

    run(work())


def test_a_page_of_this_machine_under_a_made_up_name_is_not_the_own_page() -> None:
    """A name that somebody lets point at 127.0.0.1 does not open the door (DNS rebinding)."""

    async def work() -> None:
        async with serving() as served:
            response = await served.offer(Host="evil.example:80", Origin="http://evil.example:80")
            assert response.json()["kind"] == "token_missing"
            proxied = await served.offer(X_Forwarded_For="203.0.113.7")
            assert proxied.json()["kind"] == "token_missing"
            own = await served.offer(Origin=f"http://127.0.0.1:{served.port}")
            assert own.status_code == 201

    run(work())


def test_tokens_are_given_for_the_key_alone() -> None:
    async def work() -> None:
        async with serving() as served:
            url = f"http://127.0.0.1:{served.port}/webrtc/tokens"
            for key in ("", "Bearer " + "x" * 32, "Basic " + KEY):
                headers = {"Authorization": key} if key else {}
                refused = await served.client.post(url, json={"agent": "desk"}, headers=headers)
                assert refused.status_code == 401
            odd = await served.client.post(
                url, json={"nobody": 1}, headers={"Authorization": f"Bearer {KEY}"}
            )
            assert odd.status_code == 400
        async with serving(api_key="") as served:
            url = f"http://127.0.0.1:{served.port}/webrtc/tokens"
            assert (await served.client.post(url, json={"agent": "desk"})).status_code == 404

    run(work())


# --- signalling ----------------------------------------------------------------------------------


def test_an_answer_is_whip_shaped() -> None:
    async def work() -> None:
        turn = {"ice": ("turn:t.example",), "turn_secret": "north"}
        async with serving(**turn) as served:
            response = await served.offer()
            assert response.status_code == 201
            assert response.headers["content-type"] == "application/sdp"
            assert response.headers["location"].startswith("/webrtc/desk/")
            assert len(response.headers["location"]) > 40
            assert response.headers["etag"] == '"0"'
            assert response.headers["cache-control"] == "no-store"
            assert 'rel="ice-server"' in response.headers["link"]
            assert "a=sendrecv" in response.text
            assert "a=setup:passive" in response.text
            assert "127.0.0.1" in response.text
            assert response.text.count("a=candidate:") == 1
            servers = (await served.client.get(served.url + "/ice")).json()["iceServers"]
            assert servers[0]["urls"] == "turn:t.example"
            assert servers[0]["credential"]

    run(work())


def test_only_configured_addresses_and_ports_are_offered() -> None:
    async def work() -> None:
        async with serving(
            addresses=("203.0.113.9/127.0.0.1",), ports=(47110, 47111), pending=10
        ) as served:
            answers = [(await served.offer()).text for _ in range(2)]
            candidates = [
                line.split()
                for answer in answers
                for line in answer.splitlines()
                if line.startswith("a=candidate")
            ]
            assert {line[4] for line in candidates} == {"203.0.113.9"}
            assert {int(line[5]) for line in candidates} == {47110, 47111}
            full = await served.offer()
            assert (full.status_code, full.json()["kind"]) == (503, "busy")

    run(work())


def test_many_answers_that_wait_for_their_callers_are_enough() -> None:
    async def work() -> None:
        async with serving(pending=2) as served:
            assert (await served.offer()).status_code == 201
            assert (await served.offer()).status_code == 201
            assert (await served.offer()).status_code == 503

    run(work())


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/plain", "v=0", 415),
        ("application/sdp", "x" * 17000, 413),
        ("application/sdp", "nonsense", 400),
    ],
)
def test_what_is_no_offer_is_refused(kind: str, body: str, status: int) -> None:
    async def work() -> None:
        async with serving() as served:
            headers = {"Content-Type": kind}
            response = await served.client.post(served.url, content=body, headers=headers)
            assert response.status_code == status
            assert response.headers["content-type"] == "application/problem+json"
            assert not served.line.sessions

    run(work())


def test_an_offer_of_video_is_unacceptable() -> None:
    async def work() -> None:
        async with serving() as served:
            offer = (await browser_offer()).replace("m=application", "m=video")
            assert (await served.offer(offer)).status_code == 422

    run(work())


def test_an_unknown_agent_is_not_found() -> None:
    async def work() -> None:
        parties = Parties()
        parties.refusal = Refusal("unknown_agent", text="There is no agent named 'x'.")
        async with serving(parties) as served:
            assert (await served.offer()).status_code == 404

    run(work())


def test_changes_of_ice_go_by_their_tags() -> None:
    async def work() -> None:
        async with serving(connect_seconds=30.0) as served, visiting(served):
            name, session = next(iter(served.line.sessions.items()))
            url = f"http://127.0.0.1:{served.port}/webrtc/desk/{name}"
            body = "a=ice-ufrag:abcd\r\na=ice-pwd:" + "p" * 24 + "\r\n"
            kind = {"Content-Type": "application/trickle-ice-sdpfrag"}
            patch = served.client.patch
            assert (await patch(url, content=body, headers=kind)).status_code == 428
            stale = await patch(url, content=body, headers={**kind, "If-Match": '"9"'})
            assert stale.status_code == 412
            trickled = await patch(url, content=body, headers={**kind, "If-Match": '"0"'})
            assert trickled.status_code == 204
            odd = await patch(url, content="x", headers={**kind, "If-Match": "*"})
            assert odd.status_code == 400
            plain = await patch(url, content=body, headers={"If-Match": "*"})
            assert plain.status_code == 415
            before = session.ice
            anew = await patch(url, content=body, headers={**kind, "If-Match": "*"})
            assert anew.status_code == 200
            assert anew.headers["etag"] == '"1"'
            assert anew.headers["content-type"] == "application/trickle-ice-sdpfrag"
            assert session.ice != before
            assert session.ice is not None
            assert f"a=ice-ufrag:{session.ice.ufrag}" in anew.text
            assert "a=candidate:" in anew.text
            unknown = await patch(url + "x", content=body, headers={**kind, "If-Match": "*"})
            assert unknown.status_code == 404

    run(work())


def test_a_restart_that_leads_nowhere_leaves_the_call_as_it_was() -> None:
    async def work() -> None:
        parties = Parties(sound=tone(440, 1.0, 24000))
        async with serving(parties, connect_seconds=5.0) as served, visiting(served) as page:
            name = next(iter(served.line.sessions))
            url = f"http://127.0.0.1:{served.port}/webrtc/desk/{name}"
            headers = {"Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"}
            body = "a=ice-ufrag:abcd\r\na=ice-pwd:" + "p" * 24 + "\r\n"
            for _ in range(3):
                await served.client.patch(url, content=body, headers=headers)
            await asyncio.sleep(8)
            assert level(page.heard()[-24000:]) > -20
            assert not parties.all[0].gone.is_set()

    run(work())


def test_get_says_nothing_and_delete_of_nothing_is_not_found() -> None:
    async def work() -> None:
        async with serving() as served:
            assert (await served.client.get(served.url)).status_code == 204
            assert (await served.client.delete(served.url + "/nothing")).status_code == 404

    run(work())


def test_a_refused_caller_is_told_why() -> None:
    async def work() -> None:
        async with serving(local=False) as served:
            page = Page(served)
            with pytest.raises(RefusedError, match="401 A call needs a token"):
                await page.browser.connect()
            await page.browser.close()

    run(work())
