"""The HTTP server of a process: uvicorn, told what this gateway does itself."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from socket import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from gateway.lines.websocket.upgrade import Upgrades
from gateway.web.door import Door, PatientConnection, Sorting


class HttpServer(uvicorn.Server):
    """uvicorn without its own signal handling: the gateway drains first."""

    def __init__(self, config: uvicorn.Config, door: Door) -> None:
        super().__init__(config)
        self._door = door

    def install_signal_handlers(self) -> None:
        """Leave signals to the gateway."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Leave signals to the gateway."""
        return nullcontext()

    async def take(self, connection: socket, data: bytes) -> None:
        """Serve a connection that another process accepted, from its request on."""
        loop = asyncio.get_running_loop()
        connection.setblocking(False)

        def make() -> PatientConnection:
            protocol = self._door(
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state
            )
            protocol.taken = data
            return protocol

        try:
            await loop.connect_accepted_socket(make, connection)
        except OSError:  # it was closed meanwhile
            connection.close()


def http_server(routes: list[BaseRoute], upgrades: Upgrades, sorting: Sorting | None) -> HttpServer:
    """Make the server of these routes and WebSockets."""
    door = Door(sorting=sorting)
    config = uvicorn.Config(
        # Who goes away within a request is no failure of ours.
        Starlette(routes=routes, exception_handlers={ClientDisconnect: _gone}),
        loop="none",
        http=door,  # type: ignore[arg-type]
        ws=upgrades,  # type: ignore[arg-type]
        lifespan="off",
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=5,
    )
    return HttpServer(config, door)


def _gone(_request: Request, _error: Exception) -> Response:
    """Answer somebody who is not there any more."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)
