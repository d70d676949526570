"""The HTTP call that places a call: who may, what is refused, and what is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from structlog.testing import capture_logs

from gateway.doors.judgement import Doors, Keys
from gateway.doors.owner import bearer
from gateway.lines.sip.http import LARGEST, routes
from gateway.lines.sip.line import SipLine
from gateway.lines.sip.settings import TrunkSettings
from gateway.ports import Refusal
from tests.gateway.lines.sip.test_line import ALLOWED, End, end, until
from tests.support.owner import OWNER

pytestmark = pytest.mark.real_time


def trunk(far: End) -> dict[str, TrunkSettings]:
    """Return a trunk to a line on which everybody is busy."""
    far.parties.refusal = Refusal("busy")
    return {"carrier": TrunkSettings(proxy=f"sip:127.0.0.1:{far.port}")}


async def posted(
    line: SipLine, body: Any, headers: dict[str, str] | None = None
) -> tuple[int, list[dict[str, Any]]]:
    """Post to the route from this machine; give the status and the JSON lines."""
    app = Starlette(routes=routes(line.dialler, Doors(Keys(OWNER, {"sip_key": "secret"}))))
    transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1234))
    headers = {
        "Content-Type": "application/json",
        **(bearer(OWNER) if headers is None else headers),
    }
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = await http.post("/sip/calls", content=data, headers=headers)
        return response.status_code, [json.loads(text) for text in response.text.splitlines()]


async def test_an_answered_call_is_told_to_its_end() -> None:
    async with end() as near, end() as far:
        status, told = await posted(
            near.line, {"to": far.uri, "agent": "sales", "variables": {"order": "17"}}
        )
        assert status == 200
        assert [one["event"] for one in told] == ["ringing", "outcome"]
        assert told[-1]["outcome"] == "answered"
        party = await near.parties.next()
        assert party.leg.info.agent == "sales"
        assert party.leg.info.variables["order"] == "17"
        assert party.leg.info.call_id == told[-1]["call_id"]
        assert not party.gone.is_set()  # the call goes on after the answer to the request


async def test_a_busy_far_side_is_told() -> None:
    async with end() as near, end() as far:
        far.parties.refusal = Refusal("busy")
        status, told = await posted(near.line, {"to": far.uri})
        assert (status, told[-1]["outcome"], told[-1]["code"]) == (200, "busy", 486)


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({}, 401),
        ({"Host": "localhost"}, 401),
        (bearer("wrong"), 401),
        (bearer("secret"), 400),
        (bearer(OWNER), 400),
        ({**bearer("secret"), "Origin": "https://evil.example"}, 403),
        ({**bearer("secret"), "Origin": "http://gateway"}, 400),
        ({**bearer("secret"), "Content-Type": "text/plain"}, 415),
    ],
)
async def test_who_may_place_calls(headers: dict[str, str], wanted: int) -> None:
    async with end() as near:
        status, _ = await posted(near.line, {}, headers)
        assert status == wanted


async def test_a_key_calls_whom_the_list_allows_and_the_owner_whom_they_like() -> None:
    with capture_logs() as logs:
        async with end() as far, end(dial=("+4930*",), trunks=trunk(far)) as near:
            for headers, to, wanted in (
                (bearer("secret"), "+19005550123", 403),
                (bearer("secret"), "sip:premium@evil.example", 403),
                (bearer("secret"), "+493012345", 200),
                (bearer(OWNER), "+19005550123", 200),
            ):
                status, told = await posted(near.line, {"to": to}, headers)
                assert (to, status) == (to, wanted)
                assert ("sip.dial" in told[0].get("error", "")) is (wanted == 403)
    assert [one["by"] for one in logs if one["event"] == "dial_refused"] == ["key", "key"]


async def test_an_hour_has_so_many_calls_and_no_more() -> None:
    async with end() as far, end(trunks=trunk(far)) as near:
        codes = [(await posted(near.line, {"to": "123"}))[0] for _ in range(ALLOWED + 1)]
        assert codes == [200] * ALLOWED + [403]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"to": 5}',
        {"to": "sip:a@b", "agnet": "sales"},
        {"to": "1 2"},
        {"to": "12345"},
        b"x" * (LARGEST + 1),
    ],
)
async def test_what_is_no_order_is_refused(body: Any) -> None:
    async with end() as near:
        status, told = await posted(near.line, body)
        assert status == 400
        assert told[0]["error"]


async def test_who_stops_listening_cancels_the_call() -> None:
    async with end() as near, end(ring_before_answer=20.0) as far:
        await _abandoned(near, far)
        await until(lambda: not len(near.line) and not len(far.line))


async def _abandoned(near: End, far: End) -> None:
    """Ask for a call, and go away while it rings."""
    asking = asyncio.timeout(0.5)
    try:
        async with asking:
            await posted(near.line, {"to": far.uri})
    except TimeoutError:
        return
