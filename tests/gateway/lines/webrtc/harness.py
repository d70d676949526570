"""A WebRTC line served on a loopback socket, with test parties behind it, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from aiortc import RTCConfiguration, RTCPeerConnection
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.plan import CallPlan
from gateway.caller.webrtc import Browser, WebrtcCaller
from gateway.doors.judgement import Doors, Keys
from gateway.lines.webrtc.line import WebrtcLine
from gateway.lines.webrtc.settings import WebrtcSettings
from tests.support.owner import OWNER
from tests.support.sip_answers import Parties

SITE = "https://www.example.com"
KEY = "k" * 32


@dataclass
class Served:
    """A line that is being served."""

    line: WebrtcLine
    parties: Parties
    port: int
    client: httpx.AsyncClient

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/webrtc/desk"

    async def offer(
        self, sdp: str = "", token: str | None = None, **headers: str
    ) -> httpx.Response:
        """Post an offer, as a page where there is an Origin, else as the machine's owner.

        `headers` with underscores for dashes.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is None:
            token = "" if "Origin" in headers else OWNER
        if token:
            named["Authorization"] = f"Bearer {token}"
        return await self.client.post(
            self.url,
            content=sdp or await browser_offer(),
            headers={"Content-Type": "application/sdp", **named},
        )

    async def token(self, **grant: Any) -> str:
        """Ask for a token as a site's server does."""
        response = await self.client.post(
            f"http://127.0.0.1:{self.port}/webrtc/tokens",
            json={"agent": "desk", **grant},
            headers={"Authorization": f"Bearer {KEY}"},
        )
        assert response.status_code == 201, response.text
        token: str = response.json()["token"]
        return token


@asynccontextmanager
async def serving(
    parties: Parties | None = None, settle: float = 60.0, **settings: Any
) -> AsyncIterator[Served]:
    """Serve a line; at the end, wait `settle` seconds and see that nothing is left behind.

    In virtual time the wait is longer than every time-out of the line.
    """
    parties = parties or Parties()
    chosen = WebrtcSettings(**{"api_key": KEY, "addresses": ("127.0.0.1",), **settings})
    line = WebrtcLine(chosen, parties, "desk", Doors(Keys(OWNER, {"site_key": chosen.api_key})))
    config = uvicorn.Config(
        Starlette(routes=line.routes()), lifespan="off", log_config=None, proxy_headers=False
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HttpToolsProtocol(config, state, {}), "127.0.0.1", 0)
    up = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(line.run(up.set))
        parties.pacer.start()
        await up.wait()
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
                port = server.sockets[0].getsockname()[1]
                yield Served(line, parties, port, client)
        finally:
            server.close()
            for connection in list(state.connections):
                connection.shutdown()
            await asyncio.sleep(settle)
            parties.pacer.stop()
            left = dict(line.calls.sessions)
            line.stop()
    assert not left, "a session was left behind"


async def browser_offer() -> str:
    """Return an offer such as a browser makes, without somebody who would connect."""
    pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    pc.addTransceiver("audio", direction="sendrecv")
    pc.createDataChannel("parley")
    await pc.setLocalDescription(await pc.createOffer())
    sdp = pc.localDescription.sdp
    await pc.close()
    return sdp


class Page:
    """A visitor's browser, by hand: what it hears is on the phone's tape."""

    def __init__(self, served: Served, token: str = "", **caller: Any) -> None:
        self.caller = WebrtcCaller(served.url, token, **caller)
        self.phone = Phone(CallPlan(hang_up_after=500.0), self.caller.form, NetworkSettings())
        self.messages: list[dict[str, Any]] = []
        self.browser = Browser(self.caller, self.phone, self.messages.append)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the messages of one type, without version and type."""
        return [
            {name: value for name, value in message.items() if name not in ("v", "type")}
            for message in self.messages
            if message["type"] == kind
        ]

    def heard(self) -> bytes:
        """Return all that was heard by now."""
        return self.phone.tape.heard_pcm()


@asynccontextmanager
async def visiting(served: Served, token: str = "", **caller: Any) -> AsyncIterator[Page]:
    """Call as a page does, and close the page at the end."""
    page = Page(served, token, **caller)
    try:
        await page.browser.connect()
        yield page
    finally:
        page.phone.end("caller", "page closed")
        await page.browser.close()


async def until(holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait in virtual time until something holds."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - it is virtual, and costs nothing
            await asyncio.sleep(0.02)
