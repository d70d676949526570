"""A WebSocket to a model's server: sends without waiting, tells of messages as they come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from picows import WSCloseCode, WSError, WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from gateway.plumbing.meter import Measure, Meter

LONGEST_MESSAGE = 2 * 1024 * 1024
"""A model's message is at most a few seconds of sound: in base64, 64,000 bytes each."""

BYTES = Measure(8_000_000, 2_000_000)
"""Two minutes of sound at once, and thirty times as fast as it is heard from then on."""

MESSAGES = Measure(4000, 500)
"""Models send one for each token or piece of sound, some fifty a second."""

LONGEST_BACKLOG = 4 * 1024 * 1024
"""Bytes that may wait to be sent: minutes of sound; a server so far behind does not read."""

_SILENT = logging.Logger("picows", level=logging.CRITICAL + 1)
"""What happens to a socket is an event of its backend, not a line of the library."""


class ModelSocket(WSListener):
    """One connection; `closed` is set when it is over, whoever ended it."""

    def __init__(
        self,
        on_message: Callable[[bytes], None],
        on_closed: Callable[[], None] | None = None,
        on_binary: Callable[[bytes], None] | None = None,
    ) -> None:
        """`on_binary` takes binary messages, where they are of another kind than the others."""
        self._on_message = on_message
        self._on_binary = on_binary or on_message
        self._binary = False
        self._on_closed = on_closed
        self._transport: WSTransport | None = None
        self._parts: list[bytes] = []
        self._size = 0
        "bytes of the message that is coming in"
        self._bytes, self._messages = Meter(BYTES), Meter(MESSAGES)
        self._given_up = False
        "nothing of it is wanted any more"
        self.answered = asyncio.Event()
        "the server has taken the WebSocket, or it is over"
        self.closed = asyncio.Event()
        self.reason = ""
        "why it is over, in words for the log"

    async def open(self, url: str, headers: Mapping[str, str], seconds: float) -> None:
        """Connect; raises OSError or TimeoutError with a reason that holds no secret."""
        with ExitStack() as failed:
            failed.callback(self._give_up)
            async with asyncio.timeout(seconds):
                await self._connect(url, headers)
            failed.pop_all()

    async def _connect(self, url: str, headers: Mapping[str, str]) -> None:
        try:
            await ws_connect(
                lambda: self,
                url,
                extra_headers=dict(headers),
                logger_name=_SILENT,
                max_frame_size=LONGEST_MESSAGE,
                enable_auto_ping=True,
                auto_ping_idle_timeout=10,
                auto_ping_reply_timeout=10,
            )
        except WSError as refused:
            raise OSError(f"the server refused the WebSocket: {_first_line(refused)}") from None

    def _give_up(self) -> None:
        """Want it no more; picows opens even what nobody waits for any longer."""
        self._given_up = True
        self.close()

    async def serve(self) -> None:
        """Return at once: picows reads and writes on the loop itself."""

    def send(self, text: str) -> None:
        """Send a text message; one that cannot be sent any more is dropped."""
        self._send(WSMsgType.TEXT, text.encode())

    def send_bytes(self, message: bytes) -> None:
        """Send a binary message."""
        self._send(WSMsgType.BINARY, message)

    def close(self) -> None:
        """Say goodbye and close."""
        if self._transport is not None:
            self._transport.send_close(WSCloseCode.OK)
            self._transport.disconnect()

    def _send(self, kind: Any, message: bytes) -> None:
        transport = self._transport
        if transport is None or self.closed.is_set():
            return
        if transport.underlying_transport.get_write_buffer_size() > LONGEST_BACKLOG:
            self.reason = "the server does not read"
            transport.disconnect()
            return
        transport.send(kind, message)

    # --- what picows calls ------------------------------------------------------------------

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        self.answered.set()
        if self._given_up:
            self.close()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            text = (frame.get_close_message() or b"").decode(errors="replace")[:200]
            why = f"closed by the server: {frame.get_close_code().value} {text}".strip()
            self.reason = self.reason or why
            transport.disconnect()
            return
        if frame.msg_type in (WSMsgType.PING, WSMsgType.PONG):
            return
        if self._too_much(transport, frame):
            return
        if not self._parts:
            self._binary = frame.msg_type == WSMsgType.BINARY
        self._parts.append(frame.get_payload_as_bytes())
        if frame.fin:
            message = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            (self._on_binary if self._binary else self._on_message)(message)

    def _too_much(self, transport: WSTransport, frame: WSFrame) -> bool:
        """Return a server up that sends more than can be meant for anybody."""
        now = asyncio.get_running_loop().time()
        self._size = frame.payload_size + (self._size if self._parts else 0)
        if self._given_up:
            return True  # what was read along with what was too much
        if self._size > LONGEST_MESSAGE:
            why = f"the server sent a message of more than {LONGEST_MESSAGE} bytes"
        elif self._bytes.wait(frame.payload_size, now) or self._messages.wait(1, now):
            why = "the server sends more than anyone can hear"
        else:
            return False
        self.reason = self.reason or why
        self._parts.clear()
        self._given_up = True
        transport.disconnect(False)
        return True

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.reason = self.reason or "the connection was lost"
        self._transport = None
        self.answered.set()
        self.closed.set()
        if self._on_closed is not None:
            self._on_closed()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["refused"])[0][:200]
