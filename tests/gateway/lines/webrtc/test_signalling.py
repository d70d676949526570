"""What pages and sites ask over HTTP, and who is let in."""

from __future__ import annotations

import asyncio

import pytest

from gateway.caller.webrtc import RefusedError
from gateway.doors.owner import bearer
from gateway.ports import Refusal
from media.level import level
from tests.gateway.lines.webrtc.harness import KEY, SITE, Page, browser_offer, serving, visiting
from tests.support.owner import OWNER
from tests.support.sip_answers import Parties, tone

# --- who may call --------------------------------------------------------------------------------


async def test_a_token_of_the_sites_server_opens_one_call() -> None:
    parties = Parties()
    async with serving(parties, origins=(SITE,)) as served:
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


async def test_a_token_is_not_used_up_by_a_call_that_cannot_be() -> None:
    parties = Parties()
    async with serving(parties) as served:
        token = await served.token()
        assert (await served.offer("v=1\r\n", token)).status_code == 400
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


async def test_pages_of_other_origins_learn_nothing() -> None:
    async with serving(origins=(SITE,), public=True) as served:
        other = await served.offer(Origin="https://evil.example")
        assert other.status_code == 403
        assert "access-control-allow-origin" not in other.headers
        ask = {"Access-Control-Request-Method": "POST"}
        for origin, allowed in ((SITE, SITE), ("https://evil.example", None)):
            preflight = await served.client.options(served.url, headers={"Origin": origin, **ask})
            assert preflight.status_code == 204
            assert preflight.headers.get("access-control-allow-origin") == allowed
            assert "Origin" in preflight.headers["vary"]
        assert (
            "PATCH"
            in (await served.client.options(served.url, headers={"Origin": SITE, **ask})).headers[
                "access-control-allow-methods"
            ]
        )


async def test_public_callers_are_limited() -> None:
    async with serving(origins=(SITE,), public=True, public_per_address=1) as served:
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


async def test_a_page_of_this_machine_under_a_made_up_name_is_not_the_own_page() -> None:
    """A name that somebody lets point at 127.0.0.1 does not open the door (DNS rebinding)."""

    async with serving() as served:
        response = await served.offer(Host="evil.example:80", Origin="http://evil.example:80")
        assert response.json()["kind"] == "origin_refused"
        proxied = await served.offer(token="")
        assert proxied.json()["kind"] == "token_missing"
        own = await served.offer(Origin=f"http://127.0.0.1:{served.port}", token=OWNER)
        assert own.status_code == 201


@pytest.mark.parametrize(
    ("grant", "kind", "said"),
    [
        ({"agent": "desk", "orgin": SITE}, "malformed", "did you mean `origin`?"),
        ({"agent": "desk", "callers": "Ada"}, "malformed", "did you mean `caller`?"),
        ({"agent": "nobody"}, "unknown_agent", "nobody"),
    ],
)
async def test_a_token_is_not_given_for_what_was_meant_otherwise(
    grant: dict[str, str], kind: str, said: str
) -> None:
    async with serving(origins=(SITE,)) as served:
        url = f"http://127.0.0.1:{served.port}/webrtc/tokens"
        response = await served.client.post(url, json=grant, headers=bearer(KEY))
        assert (response.status_code, response.json()["kind"]) == (400, kind)
        assert said in response.json()["title"]
        default = await served.token(agent="default")
        assert (await served.offer(token=default, Origin=SITE)).status_code == 201


async def test_tokens_are_given_for_the_key_alone() -> None:
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


# --- signalling ----------------------------------------------------------------------------------


async def test_an_answer_is_whip_shaped() -> None:
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
        asked = await served.client.get(served.url + "/ice", headers=bearer(OWNER))
        servers = asked.json()["iceServers"]
        assert servers[0]["urls"] == "turn:t.example"
        assert servers[0]["credential"]


async def test_only_configured_addresses_and_ports_are_offered() -> None:
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


async def test_many_answers_that_wait_for_their_callers_are_enough() -> None:
    async with serving(pending=2) as served:
        assert (await served.offer()).status_code == 201
        assert (await served.offer()).status_code == 201
        assert (await served.offer()).status_code == 503


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/plain", "v=0", 415),
        ("application/sdp", "x" * 17000, 413),
        ("application/sdp", "nonsense", 400),
    ],
)
async def test_what_is_no_offer_is_refused(kind: str, body: str, status: int) -> None:
    async with serving() as served:
        headers = {"Content-Type": kind}
        response = await served.client.post(served.url, content=body, headers=headers)
        assert response.status_code == status
        assert response.headers["content-type"] == "application/problem+json"
        assert not served.line.calls.sessions


async def test_an_offer_of_a_camera_alone_is_unacceptable_and_one_with_sound_is_taken() -> None:
    async with serving() as served:
        offer = await browser_offer()
        assert (await served.offer(offer.replace("m=audio", "m=video"))).status_code == 422
        taken = await served.offer(offer.replace("m=application", "m=video"))
        assert taken.status_code == 201
        assert "m=video 0 " in taken.text


async def test_an_unknown_agent_is_not_found() -> None:
    parties = Parties()
    parties.refusal = Refusal("unknown_agent", text="There is no agent named 'x'.")
    async with serving(parties) as served:
        assert (await served.offer()).status_code == 404


async def test_changes_of_ice_go_by_their_tags() -> None:
    async with serving(connect_seconds=30.0) as served, visiting(served):
        name, session = next(iter(served.line.calls.sessions.items()))
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


async def test_a_restart_that_leads_nowhere_leaves_the_call_as_it_was() -> None:
    parties = Parties(sound=tone(440, 1.0, 24000))
    async with serving(parties, connect_seconds=5.0) as served, visiting(served) as page:
        name = next(iter(served.line.calls.sessions))
        url = f"http://127.0.0.1:{served.port}/webrtc/desk/{name}"
        headers = {"Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"}
        body = "a=ice-ufrag:abcd\r\na=ice-pwd:" + "p" * 24 + "\r\n"
        for _ in range(3):
            await served.client.patch(url, content=body, headers=headers)
        await asyncio.sleep(8)
        assert level(page.heard()[-24000:]) > -20
        assert not parties.all[0].gone.is_set()


async def test_get_says_nothing_and_delete_of_nothing_is_not_found() -> None:
    async with serving() as served:
        assert (await served.client.get(served.url)).status_code == 204
        assert (await served.client.delete(served.url + "/nothing")).status_code == 404


async def test_a_refused_caller_is_told_why() -> None:
    async with serving() as served:
        page = Page(served, "no pass")
        with pytest.raises(RefusedError, match="401 The token was not made by this gateway"):
            await page.browser.connect()
        await page.browser.close()
