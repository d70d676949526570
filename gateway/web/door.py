"""The HTTP port: who is listened to, for how long, and how much one connection may hold.

uvicorn bounds how long an answered connection may be idle; here is what it leaves open: a request
that never becomes whole, a peer that does not read its answer, and more connections that ask
nothing than there are files to open.
Source: uvicorn, `HttpToolsProtocol`, whose callbacks of the parser these are.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.plumbing.fair_wait import FairWait

log = structlog.get_logger("http")

TOLD_SECONDS = 60.0
"""Between two lines about connections that were let go: a flood must not fill the log as well."""


@dataclass(frozen=True, slots=True)
class Patience:
    """What one connection may cost."""

    request_seconds: float = 10.0
    "from its first byte, or the connection's, to its last; the largest takes a second on a phone"
    stalled_seconds: float = 20.0
    "how long an answer may wait for its reader"
    request_bytes: int = 262_144
    "head and body; the largest there are, webhooks and tokens, may have a quarter"
    idle_connections: int = 400
    "that ask nothing, or have not asked to the end; past it the oldest goes: 1024 files are usual"


class Door:
    """Makes the protocol of each connection; given to `uvicorn.Config(http=...)`."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self._idle: dict[PatientConnection, None] = {}
        "the oldest first"
        self._shed = 0
        self._told: float | None = None

    def __call__(self, **uvicorn: Any) -> asyncio.Protocol:
        """Make the protocol of one more connection."""
        return PatientConnection(self, **uvicorn)

    def idle(self, one: PatientConnection) -> None:
        """Take that a connection asks nothing so far; the oldest such goes where there are many."""
        self._idle[one] = None
        if len(self._idle) <= self.patience.idle_connections:
            return
        oldest = next(iter(self._idle))
        self.busy(oldest)
        oldest.let_go()
        self._shed += 1
        now = one.loop.time()
        if self._told is None or now - self._told >= TOLD_SECONDS:
            log.warning("idle_connections_shed", connections=self._shed)
            self._told, self._shed = now, 0

    def busy(self, one: PatientConnection) -> None:
        """Take that a connection has asked, or is gone."""
        self._idle.pop(one, None)


class PatientConnection(HttpToolsProtocol):
    """One HTTP connection that is not waited for without end."""

    def __init__(self, door: Door, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._door = door
        self._patience = door.patience
        self._deadline: FairWait | None = None
        "of the request that comes in"
        self._stalled: FairWait | None = None
        self._size = 0
        "bytes since the last whole request"
        self._before: Any = None
        "uvicorn's side of the request before the one that comes in"

    # --- for the transport -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._door.idle(self)
        self._expect()

    def data_received(self, data: bytes) -> None:
        self._size += len(data)
        super().data_received(data)
        if self._size > self._patience.request_bytes and self._deadline is not None:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.busy(self)
        self._arrived()
        self._read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read()
        self._stalled = FairWait(self.loop, self._patience.stalled_seconds, self.let_go)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read()

    # --- for the parser ----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._before = self.cycle
        self._expect()

    def on_message_complete(self) -> None:
        self._door.busy(self)
        self._arrived()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._door.idle(self)

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over; whom it goes to has bounds of their own."""
        self._door.busy(self)
        self._arrived()
        super().handle_websocket_upgrade()

    # --- inside ------------------------------------------------------------------------------

    def let_go(self) -> None:
        """End the connection without a word."""
        self.transport.abort()

    def _expect(self) -> None:
        if self._deadline is None:
            late = partial(self._refuse, HTTPStatus.REQUEST_TIMEOUT)
            self._deadline = FairWait(self.loop, self._patience.request_seconds, late)

    def _arrived(self) -> None:
        self._size = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _read(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer what has come of a request, where nothing was answered yet, and end."""
        self._arrived()
        if self.transport.is_closing():
            return
        if self._answered():
            self.transport.close()
            return
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: 0\r\n\r\n".encode())
        self.transport.close()

    def _answered(self) -> bool:
        """Say whether a word more would be one too many."""
        asked: object = self.scope  # None before the first request, whatever uvicorn's types say
        if asked is None:
            return True
        if self.cycle is not self._before:
            return bool(self.cycle.response_started)
        return self.cycle is not None and not self.cycle.response_complete
