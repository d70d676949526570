from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.protocol import State

from gateway.backends.gemini.backend import gemini_backend
from gateway.backends.gemini.settings import GeminiSettings
from gateway.backends.live import wire as live_wire
from gateway.backends.live.backend import live_backend
from gateway.backends.live.settings import LiveSettings
from gateway.backends.realtime import wire as realtime_wire
from gateway.backends.realtime.backend import realtime_backend
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.backends.session import SessionBackend
from gateway.backends.socket import ModelSocket
from gateway.events import BackendLost
from tests.support.model_server import Bench, ModelServer, Wire

MAKES: list[Callable[[str], SessionBackend]] = [
    lambda url: realtime_backend(RealtimeSettings(url=url, model="gpt-nine")),
    lambda url: live_backend(LiveSettings(url=url, model="gpt-nine")),
    lambda url: gemini_backend(GeminiSettings(url=url, api_key="k")),
]


async def mute(wire: Wire, message: dict[str, Any]) -> None:
    """Take a message and say nothing."""


@pytest.mark.parametrize("make", MAKES, ids=["realtime", "live", "gemini"])
async def test_a_call_that_ends_before_the_session_is_up_leaves_no_connection(make):
    server = ModelServer(mute, lambda sent: None, lambda got: None)

    async with server.serving():
        async with asyncio.TaskGroup() as group:
            call = group.create_task(Bench(make(server.url)).run())
            await asyncio.sleep(0.5)
            assert [wire.socket.state for wire in server.wires] == [State.OPEN]
            call.cancel()
        await asyncio.sleep(0.5)
        assert [wire.socket.state for wire in server.wires] == [State.CLOSED]


@pytest.mark.parametrize("seconds", [0.5, 10.0], ids=["out of time", "cancelled"])
async def test_a_connection_that_nobody_waits_for_any_longer_is_closed_when_it_opens(seconds):
    served: list[ServerConnection] = []

    async def take(connection: ServerConnection) -> None:
        served.append(connection)
        await connection.wait_closed()

    async def think(connection: ServerConnection, request: Any) -> None:
        await asyncio.sleep(2.0)

    async with serve(take, "127.0.0.1", 0, process_request=think) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        socket = ModelSocket(lambda message: None)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await socket.open(f"ws://127.0.0.1:{port}", {}, seconds)
        await asyncio.sleep(2.0)
        assert [connection.state for connection in served] == [State.CLOSED]


@pytest.mark.parametrize("make", MAKES[:2], ids=["realtime", "live"])
async def test_a_refusal_names_the_model_and_counts_by_whatever_name_it_comes(make):
    async def refuse(connection: ServerConnection) -> None:
        await connection.send('{"type":"proxy.error","error":{"message":"not today"}}')
        await connection.wait_closed()

    async with serve(refuse, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        bench = Bench(make(f"ws://127.0.0.1:{port}"))
        await bench.run()
        why = "the server refused a session of gpt-nine: not today"
        assert bench.events == [BackendLost(why)]


@pytest.mark.parametrize("wire", [live_wire, realtime_wire], ids=["live", "realtime"])
def test_what_has_a_name_of_its_own_and_no_error_is_nothing(wire):
    unknown = wire.parse(b'{"type":"proxy.notice","error":null}')
    assert unknown == wire.Unknown("proxy.notice")
