"""The call browser over HTTP: its page, what calls hold, and what is done to live ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gateway.archive.asking import Archive, ArchiveAway, BadQuestion, NoSuchCall
from gateway.doors import table
from gateway.doors.table import Door
from gateway.plumbing.wire_json import decode
from gateway.ports import LiveCalls
from gateway.web.assets import FOLDER, give_page, read_asset
from gateway.web.calls.login import PRIVATE, Login

FILES = FOLDER / "calls/page"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page shows what callers said: nothing of it may ever run."""

WAITING_MOST = 20
"""Questions at once; the archive answers one after the other."""

KINDS = {
    "labels": ("text/plain; charset=utf-8", "txt"),
    "vcon": ("application/vcon+json", "vcon.json"),
    "lines": ("application/json", "json"),
}


class Act(msgspec.Struct, forbid_unknown_fields=True):
    """What is done to a call in progress."""

    call: str
    act: Literal["hang_up", "transfer"]
    to: str = ""


_ACT = msgspec.json.Decoder(Act)


class CallPages:
    """Serves the call browser."""

    def __init__(self, archive: Archive, live: LiveCalls, login: Login) -> None:
        self._archive = archive
        self._live = live
        self._login = login
        self._waiting = 0
        # Of its own, so that nobody else waits for a thread behind those who look at calls.
        self._asking = ThreadPoolExecutor(1, "archive")

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        pages = {"/calls": FILES / "calls.html"}
        pages |= {f"/console/{each.name}": each for each in sorted(FILES.glob("*.[jc]s*"))}
        questions: dict[str, tuple[Door, str]] = {
            "/calls/list": (table.CALL_LIST, "calls"),
            "/calls/call": (table.CALL, "call"),
            "/calls/peaks": (table.CALL_PEAKS, "peaks"),
            "/calls/day": (table.DAY, "day"),
        }
        return [
            *(Route(path, give_page(read_asset(file), POLICY)) for path, file in pages.items()),
            *(Route(path, self._question(*one)) for path, one in questions.items()),
            Route("/calls/sound", self.sound),
            Route("/calls/export", self.export),
            Route("/calls/act", self.act, methods=["POST"]),
            *self._login.routes(),
        ]

    def stop(self) -> None:
        """Let nothing go on: the gateway goes down."""
        self._archive.close()
        self._asking.shutdown(wait=False, cancel_futures=True)

    async def sound(self, request: Request) -> Response:
        """Return a recording, or the part of it that is asked for."""
        if not self._login.lets(table.CALL_SOUND, request):
            return _refused()
        answer = await self._ask("sound", dict(request.query_params))
        if isinstance(answer, Response):
            return answer
        path: str | None = msgspec.json.decode(answer)
        if path is None or not await asyncio.to_thread(Path(path).is_file):
            return _said(HTTPStatus.NOT_FOUND, "There is no recording of this call.")
        return FileResponse(path, media_type="audio/wav", headers=PRIVATE)

    async def export(self, request: Request) -> Response:
        """Return a call for other programs, as a file."""
        if not self._login.lets(table.CALL_EXPORT, request):
            return _refused()
        given = dict(request.query_params)
        kind = given.pop("as", "")
        if kind not in KINDS:
            return _said(HTTPStatus.BAD_REQUEST, f"as: {kind!r} is none of {', '.join(KINDS)}")
        answer = await self._ask(kind, given)
        if isinstance(answer, Response):
            return answer
        media_type, ending = KINDS[kind]
        if kind == "labels":
            answer = msgspec.json.decode(answer, type=str).encode()
        plain = re.sub(r"[^A-Za-z0-9_-]", "-", given["call"])
        named = {"Content-Disposition": f'attachment; filename="{plain}.{ending}"'}
        return Response(answer, 200, PRIVATE | named, media_type)

    async def act(self, request: Request) -> Response:
        """Hang a call up, or put its caller through."""
        if not self._login.lets(table.CALL_ACT, request):
            return _refused()
        person = self._login.person(request)
        try:
            wanted = decode(_ACT, await request.body())
        except ValueError as error:
            return _said(HTTPStatus.BAD_REQUEST, str(error))
        by = "" if person is None else person.name
        if wanted.act == "hang_up":
            there = self._live.hang_up(wanted.call, by)
        else:
            there = self._live.transfer(wanted.call, wanted.to, by)
        if not there:
            return _said(HTTPStatus.NOT_FOUND, "This call is not in progress here.")
        return JSONResponse({}, headers=PRIVATE)

    # --- inside ------------------------------------------------------------------------------

    def _question(self, door: Door, name: str) -> Callable[[Request], Any]:
        async def give(request: Request) -> Response:
            if not self._login.lets(door, request):
                return _refused()
            answer = await self._ask(name, dict(request.query_params))
            if isinstance(answer, Response):
                return answer
            return Response(answer, 200, PRIVATE, "application/json")

        return give

    async def _ask(self, name: str, given: Mapping[str, str]) -> bytes | Response:
        if self._waiting >= WAITING_MOST:
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, "Too many ask already.")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._asking, self._archive.ask, name, given)
        except NoSuchCall:
            return _said(HTTPStatus.NOT_FOUND, "The log does not tell of this call.")
        except BadQuestion as error:
            return _said(HTTPStatus.BAD_REQUEST, str(error))
        except ArchiveAway as error:
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, f"Calls cannot be looked up: {error}.")
        finally:
            self._waiting -= 1


def _refused() -> Response:
    return _said(HTTPStatus.FORBIDDEN, "Calls are not shown to you.")


def _said(status: HTTPStatus, said: str) -> Response:
    return JSONResponse({"title": said}, status, headers=PRIVATE)
