"""The call browser over HTTP: who comes in, what they get, and what they may do."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from gateway.archive.asking import Archive
from gateway.archive.desk import Places
from gateway.doors.owner import bearer
from gateway.doors.people import COOKIE, PROXY_HEADER
from gateway.web.calls.login import Login
from gateway.web.calls.pages import CallPages
from gateway.web.settings import UserSettings, WebSettings
from tests.support.owner import DOORS, OWNER
from tests.support.shown_calls import OTHER, RUNNING, SHOWN, write_shown

pytestmark = pytest.mark.real_time

SALT = "AAAAAAAAAAAAAAAAAAAAAA=="
NOW = 1_770_000_000.0


def cheap(password: str) -> str:
    """Hash as little as is allowed: tests are to be fast."""
    raw = hashlib.scrypt(
        password.encode(), salt=base64.b64decode(SALT), n=2**14, r=8, p=1, dklen=32
    )
    return f"scrypt$16384$8$1${SALT}${base64.b64encode(raw).decode()}"


SEES, ACTS = cheap("a password that sees"), cheap("a password that acts")
USERS = {
    "sue": UserSettings("sees", SEES),
    "ada": UserSettings("acts", ACTS),
    "nia": UserSettings("sees"),
}


@dataclass
class Live:
    """Notes what is done to calls; has one."""

    done: list[tuple[str, ...]] = field(default_factory=list)

    def hang_up(self, call: str, by: str) -> bool:
        self.done.append(("hang_up", call, by))
        return call == RUNNING

    def transfer(self, call: str, to: str, by: str) -> bool:
        self.done.append(("transfer", call, to, by))
        return call == RUNNING


@dataclass
class Served:
    """A gateway's call browser, and a browser that has its cookies."""

    client: httpx.AsyncClient
    live: Live
    wall: list[float]

    async def log_in(self, name: str, password: str, **headers: str) -> httpx.Response:
        given = {"name": name, "password": password}
        return await self.client.post("/calls/session", json=given, headers=headers)

    async def sees(self, **headers: str) -> bool:
        answer = await self.client.get("/calls/list", headers=headers)
        assert answer.status_code in (200, 403, 503), answer.text
        return answer.status_code != 403

    async def acts(self, **headers: str) -> bool:
        act = {"call": "nobody", "act": "hang_up"}
        answer = await self.client.post("/calls/act", json=act, headers=headers)
        assert answer.status_code in (404, 403)
        return answer.status_code == 404


@asynccontextmanager
async def serving(places: Places | None = None, **settings: Any) -> AsyncIterator[Served]:
    """Serve at `https://calls.example`, as a proxy that ends TLS passes it on."""
    wall, live = [NOW], Live()
    web = WebSettings(**({"users": USERS} | settings))
    archive = Archive(places)
    pages = CallPages(archive, live, Login(web, DOORS, lambda: wall[0]))
    transport = httpx.ASGITransport(Starlette(routes=pages.routes()), client=("127.0.0.1", 5000))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="https://calls.example") as one:
            yield Served(one, live, wall)
    finally:
        pages.stop()


# --- who comes in ------------------------------------------------------------


async def test_roles_see_or_act() -> None:
    async with serving() as served:
        assert not await served.sees()
        answer = await served.log_in("sue", "a password that sees", Origin="https://calls.example")
        assert answer.json() == {"name": "sue", "acts": False}
        cookie = answer.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Secure", "Path=/calls", "Max-Age=43200"):
            assert part in cookie
        assert (await served.sees(), await served.acts()) == (True, False)
        await served.client.delete("/calls/session")
        assert not await served.sees()
        await served.log_in("ada", "a password that acts")
        assert (await served.sees(), await served.acts()) == (True, True)
        assert served.live.done == [("hang_up", "nobody", "ada")]
        said = (await served.client.get("/calls/session")).json()
        assert (said["name"], said["sees"], said["acts"]) == ("ada", True, True)


async def test_the_owners_token_is_exchanged_for_a_session() -> None:
    async with serving() as served:
        assert (
            await served.client.post("/calls/session", headers=bearer("wrong"))
        ).status_code == 401
        assert (
            await served.client.post("/calls/session", headers=bearer(OWNER))
        ).status_code == 200
        assert (await served.sees(), await served.acts()) == (True, True)


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("sue", "a password that acts"),
        ("sue", ""),
        ("nia", ""),
        ("nobody", "a password that sees"),
        ("owner", OWNER),
        ("sue", "x" * 3000),
        ("", ""),
    ],
)
async def test_wrong_passwords_open_nothing(name: str, password: str) -> None:
    async with serving() as served:
        assert (await served.log_in(name, password)).status_code == 401
        assert not await served.sees()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"\xff", b'{"name": "sue"}', b"[" * 5000, b"x" * 9999]
)
async def test_what_is_no_name_and_password_is_refused(body: bytes) -> None:
    async with serving() as served:
        assert (await served.client.post("/calls/session", content=body)).status_code == 401


async def test_guessing_is_slowed_down_for_everybody_who_guesses() -> None:
    async with serving() as served:
        for _ in range(10):
            assert (await served.log_in("sue", "guess")).status_code == 401
        answer = await served.log_in("sue", "a password that sees")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
        served.wall[0] += 61
        assert (await served.log_in("sue", "a password that sees")).status_code == 200


async def test_a_session_ends_with_its_time() -> None:
    async with serving(session_hours=1.0) as served:
        await served.log_in("sue", "a password that sees")
        served.wall[0] += 3599
        assert await served.sees()
        served.wall[0] += 2
        assert not await served.sees()


async def test_a_session_ends_with_its_user_and_with_a_new_password() -> None:
    async with serving() as served:
        await served.log_in("sue", "a password that sees")
        cookie = f"{COOKIE}={served.client.cookies[COOKIE]}"
    other = UserSettings("sees", cheap("another password"))
    for users, known in (({}, False), ({"sue": other}, False), (USERS, True)):
        async with serving(users=users) as served:
            assert await served.sees(Cookie=cookie) is known


async def test_a_forged_session_opens_nothing() -> None:
    async with serving() as served:
        await served.log_in("sue", "a password that sees")
        name, until, nonce, mark = served.client.cookies[COOKIE].split(".")
        served.client.cookies.clear()
        forged = [
            "",
            "sue",
            f"{name}.{until}.{nonce}.",
            f"{name}.{until}.{nonce}.{mark[:-2]}AA",
            f"{name}.{int(until) + 9}.{nonce}.{mark}",
            f"YWRh.{until}.{nonce}.{mark}",  # ada
            f"b3duZXI.{until}.{nonce}.{mark}",  # owner
            f"{name}.{until}.{nonce}x.{mark}",
            f"%.{until}.{nonce}.{mark}",
            f"{name}.never.{nonce}.{mark}",
        ]
        for value in forged:
            raw = f"{COOKIE}={value}"
            assert not await served.sees(Cookie=raw), value
            assert not await served.acts(Cookie=raw), value
        good = f"{COOKIE}={name}.{until}.{nonce}.{mark}"
        assert await served.sees(Cookie=good)


async def test_a_page_elsewhere_can_do_nothing_with_somebodys_session() -> None:
    foreign = (
        "https://evil.example",
        "null",
        "http://calls.example:81",
        "https://calls.example.evil",
    )
    async with serving() as served:
        await served.log_in("ada", "a password that acts")
        for origin in foreign:
            assert not await served.acts(Origin=origin)
            assert not (await served.client.delete("/calls/session", headers={"Origin": origin})
                        ).headers.get("set-cookie")  # fmt: skip
            assert (
                await served.log_in("ada", "a password that acts", Origin=origin)
            ).status_code == 401
        assert await served.acts(Origin="https://calls.example")


async def test_a_name_that_was_made_to_point_here_has_no_session() -> None:
    async with serving() as served:
        await served.log_in("ada", "a password that acts")
        answer = await served.client.get(
            "https://evil.example/calls/list"
        )  # its cookies are others
        assert answer.status_code == 403


HEARSAY = {
    "X-Forwarded-For": "127.0.0.1",
    "X-Forwarded-Host": "localhost",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-User": "ada",
    "X-Real-IP": "127.0.0.1",
    "Forwarded": "for=127.0.0.1;host=localhost",
    "Remote-User": "ada",
}


async def test_hearsay_lets_nobody_in() -> None:
    async with serving() as served:
        assert not await served.sees(**HEARSAY)
        assert not await served.acts(**HEARSAY)


async def test_a_proxy_names_people_where_it_shows_its_secret() -> None:
    proxy = {"proxy_header": "X-Forwarded-User", "proxy_secret": "the proxy's own secret"}
    shows = {PROXY_HEADER: "the proxy's own secret"}
    async with serving(**proxy) as served:
        assert not await served.sees(**HEARSAY)
        assert not await served.sees(**HEARSAY, **{PROXY_HEADER: "guessed"})
        assert await served.acts(**HEARSAY, **shows)
        assert await served.sees(**shows, **{"X-Forwarded-User": "nia"})
        assert not await served.acts(**shows, **{"X-Forwarded-User": "nia"})
        for name in ("", "nobody", "owner"):
            assert not await served.sees(**shows, **{"X-Forwarded-User": name})
    async with serving(proxy_header="X-Forwarded-User") as served:  # no secret: nobody is believed
        assert not await served.sees(**HEARSAY, **{PROXY_HEADER: ""})


@pytest.mark.parametrize(
    ("calls", "stranger", "owner"), [("open", True, True), ("off", False, False)]
)
async def test_calls_are_shown_as_the_settings_say(calls: str, stranger: bool, owner: bool) -> None:
    async with serving(calls=calls) as served:
        assert await served.sees() is stranger
        assert await served.sees(**bearer(OWNER)) is owner
        assert not await served.acts()


def test_a_password_that_is_no_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="parley password"):
        UserSettings("sees", "written out")
    with pytest.raises(ValueError, match="owner"):
        WebSettings(users={"owner": UserSettings()})


# --- what they get ------------------------------------------------------------


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    folder = tmp_path_factory.mktemp("browser")
    write_shown(folder / "calls.jsonl", folder / "recordings", NOW, others=5)
    return Places(str(folder / "calls.jsonl"), str(folder / "i.sqlite"), str(folder / "recordings"))


async def test_a_call_is_found_opened_heard_and_taken_along(places: Places) -> None:
    async with serving(places, calls="open") as served:

        async def get(path: str, **more: Any) -> httpx.Response:
            return await served.client.get(path, **more)

        found = (await get("/calls/list?words=brake+pads+service&cut_in=true")).json()
        assert found["calls"] == []  # nobody heard of the brake pads
        found = (await get("/calls/list?words=service&cut_in=true&number=12345678")).json()
        assert [call["call"] for call in found["calls"]] == [SHOWN]
        page = (await get(f"/calls/call?call={SHOWN}")).json()
        assert page["sound"]
        assert len(page["story"]["holds"]) == 1
        cut = next(said for said in page["story"]["utterances"] if said["stop_delay"])
        assert cut["text"].startswith(cut["heard_text"])
        peaks = (await get(f"/calls/peaks?call={SHOWN}")).json()
        assert peaks["seconds"] == pytest.approx(45.2)
        assert max(peaks["caller"][: round(4 / peaks["column"])]) == 0  # the agent greets
        assert max(peaks["agent"][: round(4 / peaks["column"])]) > 20
        part = await get(f"/calls/sound?call={SHOWN}", headers={"Range": "bytes=44-1043"})
        assert (part.status_code, len(part.content)) == (206, 1000)
        assert part.headers["content-type"] == "audio/wav"
        labels = await get(f"/calls/export?call={SHOWN}&as=labels")
        assert "22.600000\t22.600000\tcut-in\n" in labels.text
        lines = await get(f"/calls/export?call={SHOWN}&as=lines")
        assert lines.json() == page["lines"]
        assert lines.headers["content-disposition"] == f'attachment; filename="{SHOWN}.json"'
        vcon = (await get(f"/calls/export?call={SHOWN}&as=vcon")).json()
        texts = [one["body"] for one in vcon["dialog"] if one["type"] == "text"]
        assert cut["heard_text"] in texts
        assert not any("brake pads" in text for text in texts)
        assert vcon["uuid"] != (await get(f"/calls/export?call={OTHER}&as=vcon")).json()["uuid"]
        for path, status in (
            ("/calls/call?call=nobody", 404),
            (f"/calls/sound?call={RUNNING}", 404),
            (f"/calls/export?call={SHOWN}&as=mp3", 400),
            ("/calls/list?most=many", 400),
            ("/calls/call", 404),
            ("/calls/day", 400),
        ):
            assert (await get(path)).status_code == status, path


async def test_what_is_done_to_a_call_is_done_in_somebodys_name() -> None:
    async with serving() as served:
        await served.log_in("ada", "a password that acts")

        async def act(**given: str) -> int:
            return (await served.client.post("/calls/act", json=given)).status_code

        assert await act(call=RUNNING, act="hang_up") == 200
        assert await act(call=RUNNING, act="transfer", to="boss") == 200
        assert await act(call=SHOWN, act="hang_up") == 404
        assert await act(call=RUNNING, act="delete") == 400
        assert served.live.done[:2] == [
            ("hang_up", RUNNING, "ada"),
            ("transfer", RUNNING, "boss", "ada"),
        ]


async def test_the_page_runs_nothing_but_its_own_and_holds_no_call() -> None:
    async with serving() as served:
        page = await served.client.get("/calls")
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        for name in ("calls.js", "dom.js", "lanes.js", "calls.css"):
            assert (await served.client.get(f"/console/{name}")).status_code == 200
        assert "style=" not in page.text
        assert "onclick" not in page.text


async def test_a_log_that_goes_to_no_file_is_told() -> None:
    async with serving(calls="open") as served:
        answer = await served.client.get("/calls/list")
        assert answer.status_code == 503
        assert "no file" in json.loads(answer.text)["title"]


async def test_an_archive_that_died_is_begun_anew(places: Places) -> None:
    archive = Archive(places)
    try:
        assert json.loads(archive.ask("calls", {}))["calls"]
        process = archive._process
        assert process is not None
        process.kill()
        process.wait()
        assert json.loads(archive.ask("calls", {}))["calls"]
        assert archive._process is not process
    finally:
        archive.close()
