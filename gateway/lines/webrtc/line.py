"""The WebRTC line: the calls of web pages, and the HTTP side by which they come."""

from __future__ import annotations

from collections.abc import Callable

from starlette.routing import Route

from gateway.doors.judgement import Doors
from gateway.lines.port import Standing
from gateway.lines.webrtc.calls import PageCalls
from gateway.lines.webrtc.settings import WebrtcSettings
from gateway.lines.webrtc.signalling import Signalling
from gateway.lines.websocket.upgrade import SocketDoor
from gateway.plumbing.seat import ALONE, Seat
from gateway.ports import CallTaker


class WebrtcLine:
    """Lets pages call; made on the running loop."""

    def __init__(
        self,
        settings: WebrtcSettings,
        answer: CallTaker,
        default_agent: str,
        doors: Doors,
        seat: Seat = ALONE,
    ) -> None:
        """`seat` draws the names that lead a page back to this process."""
        self.calls = PageCalls(settings, answer, default_agent, seat)
        self._settings = settings
        self._signalling = Signalling(self.calls, doors)

    def routes(self) -> list[Route]:
        """Return the routes of signalling."""
        return self._signalling.routes()

    def sockets(self) -> dict[str, SocketDoor]:
        """Nothing: a page's messages come over the call's own data channel."""
        return {}

    async def run(self, ready: Callable[[], None]) -> None:
        """Carry calls until `stop`, then end those that are left."""
        await self.calls.run(ready)

    def drain(self) -> None:
        """Nothing: offers are refused by `CallTaker` from now on."""

    def stop(self) -> None:
        """Let `run` end."""
        self.calls.stop()

    def standing(self) -> Standing:
        """Return which pages may call."""
        if problem := self._settings.problem():
            return Standing("note", problem)
        if self._settings.public:
            return Standing("ready", "open to everybody")
        return Standing("ready", "with tokens" if self._settings.api_key else "the owner only")
