"""A carrier for tests, whole: what a new one needs beside its row in the table of lines.

It speaks `start CALL`, `media BASE64` and `mark NAME` over a WebSocket, in mu-law.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gateway.events import CallerGone, CallInfo
from gateway.lines.port import Line, LineKind, LineNeeds, Place, Said, Standing
from gateway.lines.websocket.early import EarlyBuffer
from gateway.lines.websocket.marks import MarkPlan
from gateway.lines.websocket.socket import MediaSocket
from gateway.lines.websocket.upgrade import SocketDoor, UpgradeAsk
from gateway.ports import Ear
from media.codec import wire_form
from media.frame import AudioFrame
from media.playout import Chunk, Mark, Playout

FORM = wire_form("pcmu", 8000)


@dataclass(frozen=True, slots=True)
class ToySettings:
    """How the toy carrier is told apart from others."""

    enabled: bool = False
    prefix: str = "T-"
    "of its calls' names"


class ToyLeg:
    """One caller."""

    clocked = False

    def __init__(self, info: CallInfo, socket: MediaSocket) -> None:
        self.info = info
        self.playout = Playout(FORM, lead=800)
        self._socket = socket
        self._marks = MarkPlan(800)
        self._ear = EarlyBuffer(250)
        self._at = 0

    def attach(self, ear: Ear) -> None:
        self._ear.attach(ear)

    def send(self, chunks: Sequence[Chunk]) -> None:
        marks: list[Mark | None] = []
        for chunk in chunks:
            marks.append(self._marks.before(chunk))
            self._socket.send([b"media " + base64.b64encode(chunk.payload)])
            marks.append(self._marks.after(chunk))
        marks += () if chunks else (self._marks.rest(),)
        self._socket.send([f"mark {mark.name()}".encode() for mark in marks if mark is not None])

    def clear(self) -> None:
        self._socket.send([b"clear"])

    def poll(self, now: float) -> None:
        pass

    def send_keys(self, keys: str) -> None:
        self._socket.send([f"keys {keys}".encode()])

    def transfer(self, target: str, summary: str) -> None:
        self._socket.send([f"transfer {target}".encode()])

    def hang_up(self, reason: str) -> None:
        self._socket.close(reason=reason)

    def came(self, kind: str, rest: str, now: float) -> None:
        """Take a message of the carrier's."""
        if kind == "mark":
            self.playout.acknowledge(Mark.parse(rest), now)
        elif kind == "media":
            pcm = FORM.decode(base64.b64decode(rest))
            self._ear.hear(AudioFrame(pcm, FORM.rate, self._at))
            self._at += len(pcm) // 2

    def gone(self, reason: str) -> None:
        """Take that the socket is down."""
        self._ear.end(CallerGone(reason))


class _Stream:
    """One socket."""

    def __init__(self, line: ToyLine) -> None:
        self.log = structlog.get_logger("toy")
        self._line = line
        self._socket: MediaSocket | None = None
        self._leg: ToyLeg | None = None

    def opened(self, socket: MediaSocket) -> None:
        self._socket = socket

    def received(self, text: memoryview) -> None:
        kind, _, rest = bytes(text).decode().partition(" ")
        if kind == "start" and self._socket is not None:
            self._leg = self._line.begin(rest, self._socket)
        elif self._leg is not None:
            self._leg.came(kind, rest, asyncio.get_running_loop().time())

    def closed(self, code: int, reason: str) -> None:
        if self._leg is not None:
            self._line.legs.remove(self._leg)
            self._leg.gone(reason or str(code))


class ToyLine:
    """Lets calls in."""

    def __init__(self, settings: ToySettings, needs: LineNeeds) -> None:
        self.legs: list[ToyLeg] = []
        self._settings = settings
        self._needs = needs
        self._stop = asyncio.Event()
        self._draining = False

    def routes(self) -> Sequence[Route]:
        return [Route("/toy/calls", self._calls)]

    def sockets(self) -> dict[str, SocketDoor]:
        return {"/toy/media": SocketDoor(self._upgrade)}

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        await self._stop.wait()
        for leg in self.legs:
            leg.hang_up("the gateway stops")

    def drain(self) -> None:
        self._draining = True

    def stop(self) -> None:
        self._stop.set()

    def standing(self) -> Standing:
        if self._draining:
            return Standing("note", "draining")
        return Standing("ready", f"names begin with {self._settings.prefix}")

    def begin(self, name: str, socket: MediaSocket) -> ToyLeg:
        """Have a call run."""
        agent = self._needs.agent
        leg = ToyLeg(CallInfo(self._settings.prefix + name, "toy", agent), socket)
        self.legs.append(leg)
        self._needs.answer.begin(leg)
        return leg

    def _upgrade(self, _ask: UpgradeAsk) -> _Stream:
        return _Stream(self)

    def _calls(self, _request: Request) -> Response:
        return JSONResponse([leg.info.call_id for leg in self.legs])


def _make(settings: ToySettings, needs: LineNeeds) -> Line:
    return ToyLine(settings, needs)


def _look(settings: ToySettings, place: Place) -> Iterator[Said]:
    yield "good", f"toys call {place.host}, as {settings.prefix}"


def _off(settings: ToySettings) -> str:
    return "" if settings.enabled else "toy.enabled is false"


TOY = LineKind(ToySettings, _make, _look, _off)
