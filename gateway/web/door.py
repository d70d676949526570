"""The HTTP port: who is listened to, for how long, and how much one connection may hold.

uvicorn bounds how long an answered connection may be idle; here is what it leaves open: a request
that never becomes whole, a peer that does not read its answer, and more connections that ask
nothing than there are files to open.
Source: uvicorn, `HttpToolsProtocol`, whose callbacks of the parser these are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol

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


class Sorting(Protocol):
    """Knows which of the gateway's processes a request is for."""

    def elsewhere(self, method: str, path: str, headers: Mapping[str, str]) -> int | None:
        """Return the process that a request is for; None: this one. Headers are in lower case."""

    def hand_over(self, to: int, connection: int, data: bytes) -> bool:
        """Hand a connection (an open file) away, with what was read; say whether that was done."""


class Door:
    """Makes the protocol of each connection; given to `uvicorn.Config(http=...)`."""

    def __init__(self, patience: Patience | None = None, sorting: Sorting | None = None) -> None:
        """`sorting` is None where there is one process."""
        self.patience = patience or Patience()
        self.sorting = sorting
        self._idle: dict[PatientConnection, None] = {}
        "the oldest first"
        self._shed = 0
        self._told: float | None = None

    def __call__(self, **uvicorn: Any) -> PatientConnection:
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
        self._head: bytes | None = b""
        "of a request that may be another process's; None: it is ours, or it cannot be told"
        self._to: int | None = None
        "the process that the request is for"
        self.taken = b""
        "what another process read of a request that is for this one; set before it is connected"
        self._begun = False
        "a request has begun and is not whole"

    # --- for the transport -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._door.idle(self)
        self._expect()
        if self.taken:  # now: from the next turn of the loop on there may come what follows it
            self._head = None
            self.data_received(self.taken)

    def data_received(self, data: bytes) -> None:
        self._size += len(data)
        if self._head is not None:
            self._head += data
        super().data_received(data)
        if self._to is not None:
            self._hand_over(self._to)
        elif self._size > self._patience.request_bytes and self._deadline is not None:
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
        self._begun = True
        self._before = self.cycle
        self._expect()

    def on_headers_complete(self) -> None:
        sorting, head = self._door.sorting, self._head
        answered = self.cycle is None or self.cycle.response_complete
        if sorting is not None and head is not None and answered:
            headers = {
                name.decode("latin-1"): text.decode("latin-1") for name, text in self.headers
            }
            method, path = self.parser.get_method().decode("latin-1"), self.url.decode("latin-1")
            self._to = sorting.elsewhere(method, path.partition("?")[0], headers)
        if self._to is None:
            self._head = None
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._to is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._to is not None:
            return
        self._begun = False
        self._door.busy(self)
        self._arrived()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._door.idle(self)
            # What a client sent ahead of the answer is nobody's to hand on.
            self._head = None if self._begun else b""

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over; whom it goes to has bounds of their own."""
        if self._to is not None:
            return
        self._door.busy(self)
        self._arrived()
        super().handle_websocket_upgrade()

    # --- inside ------------------------------------------------------------------------------

    def let_go(self) -> None:
        """End the connection without a word."""
        self.transport.abort()

    def _hand_over(self, to: int) -> None:
        """Let another process serve the connection, from the request on that has just begun."""
        sorting, head = self._door.sorting, self._head
        assert sorting is not None
        assert head is not None
        opened = self.transport.get_extra_info("socket")
        # At once: closing takes a turn of the loop, in which what comes is not ours any more.
        self.transport.pause_reading()
        self._door.busy(self)
        if sorting.hand_over(to, opened.fileno(), head):
            self.transport.abort()  # our copy: the connection lives as long as one is open
        else:
            self._to = None
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)

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
        """Return whether a word more would be one too many."""
        asked: object = self.scope  # None before the first request, whatever uvicorn's types say
        if asked is None:
            return True
        if self.cycle is not self._before:
            return bool(self.cycle.response_started)
        return self.cycle is not None and not self.cycle.response_complete
