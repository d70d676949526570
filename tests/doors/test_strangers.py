"""Every path of the gateway against strangers: the table says to whom it opens, and it does.

They come from this machine, as whoever comes through a proxy, a tunnel or a page in a browser does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from gateway.call.pacer import Pacer
from gateway.call.switchboard import AdmissionSettings, Switchboard
from gateway.config import load
from gateway.doors.judgement import Doors, Keys
from gateway.doors.owner import bearer
from gateway.doors.table import DOORS, Door, Who
from gateway.lines.port import LineNeeds
from gateway.metrics import page as page_of_metrics
from gateway.metrics.families import FAMILIES
from gateway.metrics.series import Registry
from gateway.observe.journal import Journal
from gateway.process import health
from gateway.process.figures import Figures, Places
from gateway.process.fleet.port import Alone
from gateway.process.judging import Judge, Watched
from gateway.process.lines import Lines
from gateway.process.site import site
from gateway.process.standing import Watch
from gateway.process.watchdog import Watchdog
from inference.pool import Workers
from tests.support.owner import OWNER
from tests.support.sip_answers import Parties
from tools.security_page import PAGE, page

pytestmark = pytest.mark.real_time
"""Threads look at files for some of the paths."""

SIP_KEY, SITE_KEY, TWILIO = "the dialler's key", "k" * 32, "twilio's token"
SCRAPER = "the scraper's token, longer than can be guessed"

SETTINGS = """
[server]
port = 8080
[sip]
enabled = true
dial = ["*"]
[sip.trunks.carrier]
proxy = "sip:127.0.0.1:9"
[log]
path = "{log}"
"""

STRANGERS: dict[str, dict[str, str]] = {
    "nothing": {},
    "a name of this machine": {"Host": "127.0.0.1:8080"},
    "a made-up name (DNS rebinding)": {"Host": "evil.example", "Origin": "http://evil.example"},
    "a page elsewhere": {"Host": "localhost:8080", "Origin": "https://evil.example"},
    "the own page's name": {"Host": "localhost:8080", "Origin": "http://localhost:8080"},
    "a page of no origin": {"Host": "localhost:8080", "Origin": "null"},
    "forwarding headers": {
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Host": "localhost:8080",
        "X-Forwarded-Proto": "https",
        "X-Real-IP": "127.0.0.1",
        "Forwarded": "for=127.0.0.1;host=localhost;proto=https",
    },
    "a wrong key": bearer("a key that somebody guessed"),
    "a cookie": {"Cookie": f"owner={OWNER}; parley-owner={OWNER}"},
    "basic credentials": {"Authorization": f"Basic {OWNER}"},
    "a forged signature": {"X-Twilio-Signature": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="},
}

KEYS: dict[Who, str] = {
    "owner": OWNER,
    "sip_key": SIP_KEY,
    "site_key": SITE_KEY,
    "scraper": SCRAPER,
}

BODIES: dict[str, dict[str, Any]] = {
    "/sip/calls": {"json": {"to": "no number"}},  # whoever comes in is told so
    "/webrtc/tokens": {"json": {"agent": "nobody"}},
    "/webrtc/{agent}": {"content": "v=0", "headers": {"Content-Type": "application/sdp"}},
    "/twilio/voice": {"data": {"CallSid": "CA1", "AccountSid": "AC1"}},
    "/twilio/status": {"data": {"CallSid": "CA1"}},
    "/calls/act": {"json": {"call": "nobody", "act": "hang_up"}},
    "/calls/session": {"json": {"name": "owner", "password": OWNER}},
}

PLACES = {"{agent}": "workshop", "{session}": "A" * 32, "{file}": "console.js"}

REFUSED = (401, 403, 404)


@asynccontextmanager
async def gateway(folder: Path) -> AsyncIterator[tuple[httpx.AsyncClient, list[BaseRoute]]]:
    """Yield a whole gateway's paths, but for its models, and a client on the same machine."""
    file = folder / "parley.toml"
    file.write_text(SETTINGS.format(log=folder / "calls.jsonl"))
    secrets = {"SIP_API_KEY": SIP_KEY, "PARLEY_API_KEY": SITE_KEY, "TWILIO_AUTH_TOKEN": TWILIO}
    settings = load(file, secrets)
    pacer = Pacer()
    board = Switchboard(pacer, lambda leg: None, lambda name: False, AdmissionSettings())  # type: ignore[arg-type, return-value]
    doors = Doors(Keys(OWNER, {"sip_key": SIP_KEY, "site_key": SITE_KEY, "scraper": SCRAPER}))

    async def speak(agent: str, text: str, rate: int) -> bytes:
        return b""

    lines = Lines(settings, LineNeeds(Parties(), "workshop", doors, speak))
    journal = Journal(settings.log)
    judge = Judge(Watched(journal, None, lines.standings, {}))
    fleet = Alone(lambda address: None, lambda: settings)
    watch = Watch(board, pacer, judge, journal, Watchdog(), lines, fleet)
    pages = site(settings, watch, lambda: ("workshop",), doors)
    places = Places(board, pacer, judge, lines.standings, Workers(1), {}, {})
    give = page_of_metrics.text(Registry(FAMILIES), Figures(places).look)
    measured = page_of_metrics.routes(give, doors)
    routes = [*lines.routes(), *pages.routes(), *health.routes(watch, doors), *measured]
    transport = httpx.ASGITransport(Starlette(routes=routes), client=("127.0.0.1", 40000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
        yield client, routes
    pages.stop()
    journal.close()


async def ask(client: httpx.AsyncClient, door: Door, method: str, shown: dict[str, str]) -> int:
    """Ask at a door; give the status."""
    path = door.path
    for place, value in PLACES.items():
        path = path.replace(place, value)
    body = BODIES.get(door.path, {}) if method in ("POST", "PATCH") else {}
    headers = {**body.get("headers", {}), **shown}
    rest = {name: value for name, value in body.items() if name != "headers"}
    async with asyncio.timeout(5), client.stream(method, path, headers=headers, **rest) as answer:
        return answer.status_code


def http_doors() -> Iterator[Any]:
    for door in DOORS:
        for method in door.methods:
            if method != "WEBSOCKET":
                yield pytest.param(door, method, id=f"{method} {door.path}")


@pytest.mark.parametrize(("door", "method"), list(http_doors()))
async def test_a_door_opens_to_nobody_who_shows_nothing(
    door: Door, method: str, tmp_path: Path
) -> None:
    async with gateway(tmp_path) as (client, _):
        for said, shown in STRANGERS.items():
            status = await ask(client, door, method, shown)
            if "everybody" in door.opens:
                assert status in (200, 304, 308, 503), said
            else:
                # A malformed offer is told so before anybody is asked who they are.
                assert status in (*REFUSED, 400, 422), said


KEYED = [door for door in DOORS if not {"everybody", "address"} & set(door.opens)]


@pytest.mark.parametrize("door", [d for d in KEYED if "POST" in d.methods], ids=lambda d: d.path)
async def test_a_key_opens_no_other_door(door: Door, tmp_path: Path) -> None:
    async with gateway(tmp_path) as (client, _):
        for who, key in KEYS.items():
            if who in door.opens or door.path == "/webrtc/{agent}":
                continue
            assert await ask(client, door, "POST", bearer(key)) in REFUSED, who


@pytest.mark.parametrize(
    "path", ["/sip/calls", "/webrtc/tokens", "/twilio/voice", "/twilio/status"]
)
async def test_whom_the_table_lets_in_comes_in(path: str, tmp_path: Path) -> None:
    (door,) = [each for each in DOORS if each.path == path]
    async with gateway(tmp_path) as (client, _):
        for who in door.opens:
            if who in KEYS:
                assert await ask(client, door, "POST", bearer(KEYS[who])) not in REFUSED, who


async def test_strangers_see_no_word_no_name_and_no_figure(tmp_path: Path) -> None:
    async with gateway(tmp_path) as (client, _):
        for shown in STRANGERS.values():
            status = (await client.get("/console/status", headers=shown)).json()
            assert status == {"owner": False, "shown": False, "web.calls": "owner"}
            well = (await client.get("/healthz", headers=shown)).json()
            assert well.keys() == {"alive", "well"}
            assert "workshop" not in (await client.get("/", headers=shown)).text
        owner = (await client.get("/console/status", headers=bearer(OWNER))).json()
        assert owner["agents"] == ["workshop"]


async def test_nothing_is_served_that_does_not_stand_in_the_table(tmp_path: Path) -> None:
    known = {(door.path, method) for door in DOORS for method in door.methods}
    async with gateway(tmp_path) as (_, routes):
        for route in routes:
            assert isinstance(route, Route)
            path = route.path
            if path.startswith(("/widget", "/client.", "/parley-widget")):
                path = "/widget.js"
            if path.startswith("/console/") and path.endswith((".js", ".css", ".svg")):
                path = "/console/{file}"
            path = path.replace("/twilio/voice/{agent}", "/twilio/voice")
            for method in (route.methods or set()) - {"OPTIONS"}:
                if (path, method) in {("/webrtc/{agent}", "GET"), ("/webrtc/{agent}", "HEAD")}:
                    continue  # says nothing at all: 204
                if method == "HEAD" and (path, "GET") in known:
                    continue
                assert (path, method) in known


def test_the_page_is_what_the_table_says() -> None:
    text = PAGE.read_text("utf-8")
    assert text == page(text), "run: make fix"
