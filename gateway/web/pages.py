"""The gateway's own page: the widget, the two lines to paste, its lines, and the latest calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from gateway.doors import table
from gateway.doors.judgement import Doors
from gateway.web.assets import FOLDER, give_page, read_asset, widget_routes
from gateway.web.calls.pages import CallPages
from gateway.web.feed import Feed
from gateway.web.settings import WebSettings

LOOK_SECONDS = 0.4
"""How often a page that is looked at asks for what is new: soon for a person."""

BEAT_SECONDS = 15.0
"""A line that says nothing, so that proxies keep the connection and a closed page is noticed."""

VIEWERS_MOST = 20

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; media-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""The page shows what callers said: nothing of it may ever run."""


@dataclass(frozen=True, slots=True)
class LineStatus:
    """One way in, as the page shows it."""

    name: str
    state: Literal["ready", "note", "off"]
    said: str
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """All that the page shows besides calls."""

    lines: tuple[LineStatus, ...]
    agents: tuple[str, ...]
    agent: str
    "the default one"
    calls: int
    begun: int
    refused: int


class Pages:
    """Serves the page and what it asks for."""

    def __init__(
        self,
        settings: WebSettings,
        feed: Feed,
        status: Callable[[], Status],
        doors: Doors,
        browser: CallPages | None = None,
    ) -> None:
        self._settings = settings
        self._doors = doors
        self._feed = feed
        self._status = status
        self._browser = browser
        self._stopping = False
        self._viewers = 0

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the page and of the widget."""
        own: list[BaseRoute] = (
            [
                Route("/", _console("console.html"), methods=["GET", "HEAD"]),
                Route("/console/console.js", _console("console.js"), methods=["GET", "HEAD"]),
                Route("/console/console.css", _console("console.css"), methods=["GET", "HEAD"]),
                Route("/console/icon.svg", _console("icon.svg"), methods=["GET", "HEAD"]),
                Route("/console/status", self.status),
                Route("/console/calls", self.calls),
                Route("/favicon.ico", _favicon),
            ]
            if self._settings.page
            else []
        )
        if self._browser is not None and self._settings.page:
            own += self._browser.routes()
        return [*widget_routes(), *own]

    def stop(self) -> None:
        """Let no connection stay: the gateway goes down."""
        self._stopping = True
        self._feed.close()
        if self._browser is not None:
            self._browser.stop()

    async def status(self, request: Request) -> Response:
        """Return how the lines are."""
        owner = self._doors.is_owner(request.headers)
        shown = self._may_see(request)
        document: dict[str, object] = {
            "owner": owner,
            "shown": shown,
            "web.calls": self._settings.calls,
        }
        if owner or shown:
            document |= asdict(self._status())
        return JSONResponse(document, headers={"Cache-Control": "no-store"})

    async def calls(self, request: Request) -> Response:
        """Stream the latest calls, now and as they go on."""
        if not self._may_see(request):
            return JSONResponse({"title": "The calls are not shown to you."}, 403)
        if self._viewers >= VIEWERS_MOST:
            return JSONResponse({"title": "Too many look already."}, 503, {"Retry-After": "30"})
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(self._stream(request), 200, headers, "text/event-stream")

    async def _stream(self, request: Request) -> AsyncIterator[bytes]:
        self._viewers += 1
        version, silent, shown = 0, 0.0, b""
        try:
            while not self._stopping and not await request.is_disconnected():
                news, calls = await asyncio.to_thread(self._feed.news, version)
                status = msgspec.json.encode(self._status())
                if status != shown:
                    shown = status
                    yield b"event: status\ndata: " + status + b"\n\n"
                if news != version or not version:
                    version, silent = news, 0.0
                    yield b"event: calls\ndata: " + calls + b"\n\n"
                    version = version or -1  # an empty log is told once
                elif silent >= BEAT_SECONDS:
                    silent = 0.0
                    yield b": still here\n\n"
                await asyncio.sleep(LOOK_SECONDS)
                silent += LOOK_SECONDS
        finally:
            self._viewers -= 1

    def _may_see(self, request: Request) -> bool:
        if self._settings.calls == "off":
            return False
        known: list[table.Who] = ["setting"] if self._settings.calls == "open" else []
        return self._doors.judge(table.CALLS, request.headers, known) is not None


def _console(name: str) -> Callable[[Request], Response]:
    return give_page(read_asset(FOLDER / "console" / name), POLICY)


def _favicon(_request: Request) -> Response:
    return RedirectResponse("/console/icon.svg", 308)
