"""The gateway's own page: who sees what of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from gateway.doors.owner import bearer
from gateway.plumbing.virtual_time import run
from gateway.web.feed import Feed
from gateway.web.pages import LineStatus, Pages, Status
from gateway.web.settings import WebSettings
from tests.gateway.web.test_call_stories import STORY
from tests.support.owner import DOORS, OWNER

STATUS = Status((LineStatus("webrtc", "ready", "with tokens", 1),), ("desk",), "desk", 1, 5, 2)


def pages(log: Path | None = None, **settings: Any) -> Pages:
    return Pages(WebSettings(**settings), Feed(log), lambda: STATUS, DOORS)


@asynccontextmanager
async def client(served: Pages) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(Starlette(routes=served.routes()), client=("127.0.0.1", 5000))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as one:
        yield one


def get(path: str, token: str = "", **settings: Any) -> httpx.Response:
    async def work() -> httpx.Response:
        async with client(pages(**settings)) as one:
            return await one.get(path, headers=bearer(token) if token else {})

    return run(work())


@pytest.mark.parametrize("path", ["/", "/console/console.js", "/console/console.css"])
def test_the_page_is_there_and_runs_nothing_but_its_own(path: str) -> None:
    response = get(path)
    assert response.status_code == 200
    policy = response.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert response.headers["cache-control"] == "no-cache"


def test_the_page_has_the_widget_and_no_inline_script() -> None:
    text = get("/").text
    assert "<parley-widget" in text
    assert "/widget.js" in text
    assert "onclick" not in text
    assert "style=" not in text


def test_a_page_that_is_not_wanted_is_not_there() -> None:
    assert get("/", page=False).status_code == 404
    assert get("/widget.js", page=False).status_code == 200


@pytest.mark.parametrize(
    ("calls", "token", "shown"),
    [
        ("owner", OWNER, True),
        ("owner", "", False),
        ("owner", "wrong", False),
        ("open", "", True),
        ("off", OWNER, False),
    ],
)
def test_who_sees_calls(calls: str, token: str, shown: bool) -> None:
    status = get("/console/status", token, calls=calls).json()
    assert status["shown"] is shown
    assert status["owner"] is (token == OWNER)
    assert ("lines" in status, "agents" in status) == (shown or token == OWNER,) * 2
    if not shown:
        assert get("/console/calls", token, calls=calls).status_code == 403


async def test_calls_are_streamed_until_the_gateway_stops(tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    log.write_bytes(b"".join(line + b"\n" for line in STORY))

    served = pages(log)
    route = next(r for r in served.routes() if isinstance(r, Route) and r.path == "/console/calls")
    sent: list[str] = []
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message.get("body", b"").decode())

    scope = {
        "type": "http", "method": "GET", "path": "/console/calls",
        "headers": [(b"authorization", f"Bearer {OWNER}".encode())],
        "query_string": b"", "client": ("127.0.0.1", 5), "http_version": "1.1",
    }  # fmt: skip
    async with asyncio.TaskGroup() as group:
        group.create_task(route.app(scope, receive, send))
        await asyncio.sleep(1)
        served.stop()
    got = sent
    body = "".join(got)
    events = dict(
        part.removeprefix("event: ").split("\ndata: ", 1)
        for part in body.split("\n\n")
        if part.startswith("event:")
    )
    assert json.loads(events["status"])["calls"] == 1
    assert json.loads(events["calls"])[0]["id"] == "A1"
    assert body.count("event: calls") == 1
