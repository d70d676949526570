"""How a server of the bus is reached, by gateways and by commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nats.aio.client import Client
from nats.errors import NoServersError

from gateway.bus.settings import BusSettings

CONNECT_SECONDS = 2
PING_SECONDS = 10
"""A server whose machine is gone says nothing; two pings without an answer end the connection."""


@asynccontextmanager
async def connected(settings: BusSettings, name: str) -> AsyncIterator[Client]:
    """Lend a connection that ends when the server does; raise what the client does."""

    why: list[Exception] = []

    async def noted(error: Exception) -> None:
        """What is wrong is raised where it matters, too."""
        why[:] = [error]

    client = Client()
    try:
        try:
            await client.connect(
                settings.servers,
                name=name,
                error_cb=noted,
                connect_timeout=CONNECT_SECONDS,
                ping_interval=PING_SECONDS,
                allow_reconnect=False,
                max_reconnect_attempts=1,  # of each server, before none is said to be there
                reconnect_time_wait=0,
                user=settings.user or None,
                password=settings.password or None,
                token=settings.token or None,
            )
        except NoServersError as error:
            raise (why[0] if why else error) from None
        yield client
    finally:
        await client.close()
        transport = client._transport  # who is not let in has one that `close` leaves open
        if transport is not None:
            transport.close()  # type: ignore[no-untyped-call]
