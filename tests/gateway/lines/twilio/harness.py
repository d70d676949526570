"""A Twilio line served by uvicorn's own protocol on a loopback socket, and fakes around it."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from structlog.testing import capture_logs
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState
from websockets.asyncio.client import ClientConnection, connect

from gateway.doors.owner import bearer
from gateway.lines.twilio.line import TwilioLine
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.websocket.upgrade import Upgrades
from gateway.log_events import CallFailedLogged, CallRefusedLogged
from gateway.ports import Free, Leg, LineEvent, Refusal, no_place
from media.frame import AudioFrame
from tests.support.owner import DOORS, OWNER


@contextmanager
def log_lines() -> Iterator[list[MutableMapping[str, Any]]]:
    """Return what is logged, but for the word that a line without a secret says at its start."""
    with capture_logs() as logs:
        yield logs
        logs[:] = [line for line in logs if line["event"] != "twilio_unsecured"]


STREAM = "MZ0a"
CALL = "CA1"


class FakeEar:
    """Keeps what a call hears."""

    def __init__(self) -> None:
        self.frames: list[AudioFrame] = []
        self.events: list[LineEvent] = []

    def hear(self, frame: AudioFrame) -> None:
        self.frames.append(frame)

    def notice(self, event: LineEvent) -> None:
        self.events.append(event)


@dataclass
class FakeAnswer:
    """Admits what it is told to, and listens to every call from its start (or when told)."""

    refusal: Refusal | None = None
    attach: bool = True
    legs: list[Leg] = field(default_factory=list)
    ears: list[FakeEar] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    turned_away: list[CallRefusedLogged | CallFailedLogged] = field(default_factory=list)

    def admit(self, agent: str) -> Refusal | None:
        self.asked.append(agent)
        return self.refusal

    def take(self) -> Free:
        return no_place

    def knows(self, agent: str) -> bool:
        return agent != "nobody"

    def missed(self, call: CallRefusedLogged | CallFailedLogged) -> None:
        self.turned_away.append(call)

    def begin(self, leg: Leg) -> None:
        self.legs.append(leg)
        self.ears.append(FakeEar())
        if self.attach:
            leg.attach(self.ears[-1])

    @property
    def ear(self) -> FakeEar:
        return self.ears[-1]

    @property
    def leg(self) -> Any:
        return self.legs[-1]


@dataclass
class Served:
    """A line that is being served."""

    line: TwilioLine
    answer: FakeAnswer
    port: int
    state: ServerState

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/twilio/stream"

    @property
    def voice(self) -> str:
        return f"http://127.0.0.1:{self.port}/twilio/voice"


@asynccontextmanager
async def serving(
    settings: TwilioSettings | None = None,
    answer: FakeAnswer | None = None,
    http_client: Any = None,
    settle: float = 60.0,
) -> AsyncIterator[Served]:
    """Serve a line; at the end, wait `settle` seconds and see that no connection is left open.

    In virtual time the wait is longer than every time-out of the line.
    """
    answer = answer or FakeAnswer()
    chosen = settings or TwilioSettings()
    line = TwilioLine(chosen, answer, "desk", DOORS, http_client=http_client)
    config = uvicorn.Config(
        Starlette(routes=line.routes()),
        ws=Upgrades(line.sockets()),  # type: ignore[arg-type]
        lifespan="off",
        log_config=None,
        proxy_headers=False,
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HttpToolsProtocol(config, state, {}), "127.0.0.1", 0)
    try:
        yield Served(line, answer, server.sockets[0].getsockname()[1], state)
    finally:
        server.close()
        for connection in list(state.connections):
            connection.shutdown()
        await asyncio.sleep(settle)
        await server.wait_closed()
    assert not state.connections, "a connection was left open"
    assert not line.legs, "a leg was left behind"


def start_message(**changes: Any) -> dict[str, Any]:
    """Return the `start` of an ordinary stream; `changes` go into its inner object."""
    inner: dict[str, Any] = {
        "streamSid": STREAM,
        "accountSid": "AC1",
        "callSid": CALL,
        "tracks": ["inbound"],
        "customParameters": {},
        "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
    }
    inner.update(changes)
    return {
        "event": "start",
        "sequenceNumber": "1",
        "streamSid": inner["streamSid"],
        "start": inner,
    }


def media_message(number: int, timestamp_ms: int, payload: bytes = b"\xff" * 160) -> dict[str, Any]:
    """Return a media message; `number` is its sequence number."""
    return {
        "event": "media",
        "sequenceNumber": str(number),
        "streamSid": STREAM,
        "media": {
            "track": "inbound",
            "chunk": str(number - 1),
            "timestamp": str(timestamp_ms),
            "payload": base64.b64encode(payload).decode(),
        },
    }


CONNECTED = {"event": "connected", "protocol": "Call", "version": "1.0.0"}


class Far:
    """Twilio's end of a socket, by hand."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, *messages: dict[str, Any] | str | bytes) -> None:
        for message in messages:
            text = json.dumps(message) if isinstance(message, dict) else message
            await self.socket.send(text)
        await asyncio.sleep(0.001)

    async def start(self, **changes: Any) -> None:
        await self.send(CONNECTED, start_message(**changes))

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(1):
            message: dict[str, Any] = json.loads(await self.socket.recv())
        return message

    async def closed(self) -> tuple[int, str]:
        async with asyncio.timeout(30):
            await self.socket.wait_closed()
        return self.socket.close_code or 0, self.socket.close_reason or ""


@asynccontextmanager
async def far_end(served: Served, **headers: str) -> AsyncIterator[Far]:
    """Open a media socket as Twilio would; without headers, as the machine's owner does."""
    async with connect(
        served.url,
        additional_headers=headers or bearer(OWNER),
        compression=None,
        ping_interval=None,
        proxy=None,
        close_timeout=5,
    ) as socket:
        yield Far(socket)


class Raw:
    """A WebSocket by hand, for what no library would send."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, opcode: int, payload: bytes, *, fin: bool = True, rsv: int = 0) -> None:
        self.write(opcode, payload, fin=fin, rsv=rsv)
        await asyncio.sleep(0.001)

    def write(self, opcode: int, payload: bytes, *, fin: bool = True, rsv: int = 0) -> None:
        size = len(payload)
        head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += b"\xfe" + size.to_bytes(2, "big")
        else:
            head += b"\xff" + size.to_bytes(8, "big")
        self.writer.write(head + bytes(4) + payload)  # masked with zeros

    async def frame(self) -> tuple[int, bytes]:
        """Return the next frame's opcode and payload; raises EOFError at the end."""
        first, size = await self.reader.readexactly(2)
        if size == 126:
            size = int.from_bytes(await self.reader.readexactly(2), "big")
        return first & 0x0F, await self.reader.readexactly(size)

    async def close_code(self) -> int:
        """Read up to the close frame and give its code; 0 where the connection just ends."""
        try:
            async with asyncio.timeout(60):
                while True:
                    opcode, payload = await self.frame()
                    if opcode == 8:
                        return int.from_bytes(payload[:2], "big")
        except (EOFError, ConnectionError):
            return 0


UPGRADE = (
    "GET /twilio/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


OWNS = f"Authorization: Bearer {OWNER}\r\n"


async def upgrade(served: Served, head: str = UPGRADE, extra: str = OWNS) -> tuple[Raw, str]:
    """Open a connection, ask for the upgrade, and give the answer's head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write((head + extra + "\r\n").encode())
    async with asyncio.timeout(5):
        answer = await reader.readuntil(b"\r\n\r\n")
    return Raw(reader, writer), answer.decode()


@asynccontextmanager
async def raw_end(served: Served) -> AsyncIterator[Raw]:
    """Open a media socket by hand."""
    raw, answer = await upgrade(served)
    assert answer.startswith("HTTP/1.1 101"), answer
    try:
        yield raw
    finally:
        raw.writer.close()
        try:
            await raw.writer.wait_closed()
        except ConnectionError:
            pass  # the gateway may have been first, with force
