"""Which WebSocket server carries the media: CPU of the server process per call and second.

Each candidate serves the same work on uvloop: 50 media messages a second in, parsed; 50 out, with
a mark behind every fifth; all calls paced by one clock.
Run: `python -m bench.sockets [--calls 25] [--seconds 6]`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import multiprocessing.connection
import time
from collections.abc import Callable
from typing import Any

import psutil
import structlog
import uvicorn
import uvloop
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect
from websockets.frames import Opcode
from websockets.server import ServerProtocol

from gateway.lines.twilio import wire
from gateway.lines.websocket.socket import MediaSocket
from gateway.lines.websocket.upgrade import SocketDoor, Upgrades

PAYLOAD = bytes(160)
"""20 ms of mu-law."""


class Call:
    """The work of one call, the same for all candidates."""

    def __init__(self, send: Callable[[list[bytes]], None]) -> None:
        self.send = send
        self.outgoing = wire.Outgoing("MZ" + "0" * 32)
        self.ticks = 0
        self.heard = 0

    def received(self, text: bytes | memoryview) -> None:
        message = wire.parse(text)
        if isinstance(message, wire.Media):
            self.heard += len(message.media.payload)

    def tick(self) -> None:
        self.ticks += 1
        messages = [self.outgoing.media(PAYLOAD)]
        if self.ticks % 5 == 0:
            messages.append(self.outgoing.mark("g1:u1:800"))
        self.send(messages)


CALLS: set[Call] = set()


# --- picows behind uvicorn: what the gateway uses ---------------------------------------------


class Owner:
    log = structlog.get_logger()

    def opened(self, socket: MediaSocket) -> None:
        self.call = Call(socket.send)
        CALLS.add(self.call)

    def received(self, text: memoryview) -> None:
        self.call.received(text)

    def closed(self, code: int, reason: str) -> None:
        CALLS.discard(self.call)


# --- websockets' Sans-IO protocol behind uvicorn ----------------------------------------------


class SansIo(asyncio.Protocol):
    def __init__(self, config: Any, server_state: Any, app_state: Any) -> None:
        self.connection = ServerProtocol(max_size=65536)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.call = Call(self.send)

    def data_received(self, data: bytes) -> None:
        self.connection.receive_data(data)
        for event in self.connection.events_received():
            opcode = getattr(event, "opcode", None)
            if opcode is None:
                self.connection.send_response(self.connection.accept(event))  # type: ignore[arg-type]
                CALLS.add(self.call)
            elif opcode is Opcode.TEXT:
                self.call.received(event.data)  # type: ignore[union-attr]
        self.flush()

    def send(self, messages: list[bytes]) -> None:
        for message in messages:
            self.connection.send_text(message)
        self.flush()

    def flush(self) -> None:
        for data in self.connection.data_to_send():
            if data:
                self.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        CALLS.discard(self.call)


# --- an ASGI application on uvicorn's own WebSockets ------------------------------------------


async def asgi(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    waiting: asyncio.Queue[list[bytes]] = asyncio.Queue(50)
    call = Call(waiting.put_nowait)
    CALLS.add(call)

    async def write() -> None:
        while True:
            for message in await waiting.get():
                await send({"type": "websocket.send", "text": message.decode()})

    with contextlib.suppress(Exception):
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(write())
            while (event := await receive())["type"] == "websocket.receive":
                call.received(event["text"].encode())
            writer.cancel()
    CALLS.discard(call)


CANDIDATES: dict[str, Any] = {
    "uvicorn + websockets (ASGI)": "websockets",
    "uvicorn + websockets Sans-IO (ASGI)": "websockets-sansio",
    "uvicorn + websockets Sans-IO (callbacks)": SansIo,
    "uvicorn + picows (callbacks)": Upgrades({"/twilio/stream": SocketDoor(lambda ask: Owner())}),
}


async def serve(ws: Any, ready: multiprocessing.connection.Connection) -> None:
    config = uvicorn.Config(
        asgi, port=0, ws=ws, log_level="warning", lifespan="off", ws_per_message_deflate=False
    )
    server = uvicorn.Server(config)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 uvicorn has no event for it
            await asyncio.sleep(0.05)
        ready.send(server.servers[0].sockets[0].getsockname()[1])
        loop = asyncio.get_running_loop()
        start = loop.time()
        for n in range(10**9):
            await asyncio.sleep(start + n * 0.02 - loop.time())
            for call in list(CALLS):
                call.tick()


def server_process(name: str, ready: multiprocessing.connection.Connection) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(CANDIDATES[name], ready))


class Far(WSListener):
    heard = 0

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        Far.heard += 1


async def load(port: int, calls: int, seconds: float, pid: int) -> tuple[float, float, float]:
    message = wire_media()
    transports = []
    for _ in range(calls):
        transport, _listener = await ws_connect(Far, f"ws://127.0.0.1:{port}/twilio/stream")
        transports.append(transport)
    process = psutil.Process(pid)
    loop = asyncio.get_running_loop()
    begin = 0.0
    start = loop.time()
    for n in range(int((seconds + 1) * 50)):
        await asyncio.sleep(start + n * 0.02 - loop.time())
        if n == 50:  # the first second warms up
            begin = sum(process.cpu_times()[:2])
            Far.heard = 0
        for transport in transports:
            transport.send(WSMsgType.TEXT, message)
    used = sum(process.cpu_times()[:2]) - begin
    memory = process.memory_info().rss / 2**20
    heard = Far.heard
    for transport in transports:
        transport.disconnect()
    return used / calls / seconds * 1000, heard / calls / seconds, memory


def wire_media() -> bytes:
    return (
        b'{"event":"media","sequenceNumber":"4711","streamSid":"MZ00000000000000000000000000000000"'
        b',"media":{"track":"inbound","chunk":"4710","timestamp":"94200","payload":"'
        + b"/" * 216
        + b'"}}'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    print(f"{options.calls} calls for {options.seconds:g} s; CPU of the server process")
    context = multiprocessing.get_context("spawn")
    for name in CANDIDATES:
        near, far = context.Pipe()
        process = context.Process(target=server_process, args=(name, far), daemon=True)
        process.start()
        port = near.recv()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            cost, rate, memory = runner.run(
                load(port, options.calls, options.seconds, process.pid or 0)
            )
        process.terminate()
        process.join()
        time.sleep(0.2)
        print(
            f"{name:45}{cost:6.2f} ms per call and second  {rate:5.1f} messages/s  {memory:.0f} MB"
        )


if __name__ == "__main__":
    main()
