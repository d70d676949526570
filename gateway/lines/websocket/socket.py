"""One WebSocket of the media path: whole text messages in and out by callback.

The framing is picows'; here is what a line needs around it: messages put together from fragments,
bounds on both directions, a peer that vanished noticed, and one `closed` at the end.
Nothing here runs as a task, and no message waits in a queue of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import structlog
from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSTransport

from gateway.lines.websocket.codes import (
    ABNORMAL,
    INTERNAL_ERROR,
    NO_STATUS,
    NORMAL,
    PROTOCOL_ERROR,
    TOO_BIG,
    UNSUPPORTED_DATA,
)
from gateway.lines.websocket.inflow import Inflow
from gateway.plumbing.fair_wait import FairWait

_TEXT = WSMsgType.TEXT
_CONTINUATION = WSMsgType.CONTINUATION
_BINARY = WSMsgType.BINARY
_PONG = WSMsgType.PONG
_CLOSE = WSMsgType.CLOSE


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """What one socket may cost, and how long it may be silent."""

    max_message: int = 65536
    "bytes of one message; a 20 ms media message has about 400"
    max_unsent: int = 65536
    "bytes that wait for a peer that does not read: five seconds of mu-law in base64"
    ping_seconds: float = 10.0
    "silence from the peer after which it is asked for a sign of life"
    dead_seconds: float = 25.0
    "silence from the peer after which it is taken for gone"
    close_seconds: float = 2.0
    "how long the peer may take to answer a close"


class SocketOwner(Protocol):
    """Who uses a socket; called on the loop, must not block."""

    log: structlog.typing.FilteringBoundLogger
    "bound to what is known of the call by now"

    def opened(self, socket: MediaSocket) -> None:
        """Take the socket: the upgrade is done, messages may flow."""

    def received(self, text: memoryview) -> None:
        """Take one whole text message; the memory is void after the call."""

    def closed(self, code: int, reason: str) -> None:
        """Learn that the socket is down; called once, last."""


class MediaSocket(WSListener):
    """One open WebSocket; decides when it is over, never what a message means."""

    def __init__(self, owner: SocketOwner, limits: SocketLimits) -> None:
        self._owner = owner
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._transport: WSTransport | None = None
        self._partial = bytearray()
        self._in_message = False
        self._heard = self._loop.time()
        self._ending: tuple[int, str] | None = None
        self._timer: FairWait | None = None
        self._inflow = Inflow()

    # --- for the owner ---------------------------------------------------------------------

    def send(self, messages: Sequence[bytes]) -> None:
        """Send text messages, all in one write; after the end of the socket this does nothing."""
        transport = self._transport
        if transport is None or self._ending is not None or not messages:
            return
        if len(messages) == 1:
            transport.send(_TEXT, messages[0])
        else:
            transport.underlying_transport.write(b"".join(_framed(messages)))
        unsent = transport.underlying_transport.get_write_buffer_size()
        if unsent > self._limits.max_unsent:
            self._drop("far side does not read", unsent=unsent)

    def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Say goodbye and end the socket, by force if the peer does not answer."""
        if self._transport is None or self._ending is not None:
            return
        self._ending = (code, reason)
        # A close frame carries at most 125 bytes (RFC 6455, section 5.5).
        self._transport.send_close(code, reason.encode()[:123])  # type: ignore[arg-type]
        self._rearm(self._limits.close_seconds, self._abort)

    # --- for picows ------------------------------------------------------------------------

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport
        self._rearm(self._limits.ping_seconds, self._watch)
        self._fenced(self._owner.opened, self)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        self._heard = self._loop.time()
        kind = frame.msg_type
        if self._inflow.floods(frame.payload_size, self._heard) and self._ending is None:
            self._drop("far side sends too much")
        elif kind == _CLOSE:
            self._peer_closed(transport, frame)
        elif self._ending is not None or kind == _PONG:
            pass  # what comes between our close and the peer's is void
        elif frame.rsv1 or frame.rsv2 or frame.rsv3:
            self._refuse(PROTOCOL_ERROR, "reserved bits without an extension")
        elif kind == _TEXT and frame.fin and not self._in_message:
            self._fenced(self._owner.received, frame.get_payload_as_memoryview())
        elif kind == _BINARY:
            self._refuse(UNSUPPORTED_DATA, "binary message")
        else:
            self._fragment(kind == _CONTINUATION, frame)

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._transport = None
        code, reason = self._ending or self._failure(transport)
        self._fenced(self._owner.closed, code, reason)

    def pause_writing(self) -> None:
        """Nothing to do: `send` looks at the buffer itself."""

    def resume_writing(self) -> None:
        """Nothing to do: nothing was paused."""

    # --- inside ----------------------------------------------------------------------------

    def _fragment(self, continues: bool, frame: WSFrame) -> None:
        if continues != self._in_message:
            self._refuse(PROTOCOL_ERROR, "fragments out of order")
            return
        if len(self._partial) + frame.payload_size > self._limits.max_message:
            self._refuse(TOO_BIG, "message too big")
            return
        self._partial += frame.get_payload_as_memoryview()
        self._in_message = not frame.fin
        if frame.fin:
            whole = bytes(self._partial)
            self._partial.clear()
            self._fenced(self._owner.received, memoryview(whole))

    def _peer_closed(self, transport: WSTransport, frame: WSFrame) -> None:
        code = _number(frame.get_close_code()) or NO_STATUS
        if self._ending is None:
            self._ending = (code, frame.get_close_reason() or "")
            # 1005 is never sent (RFC 6455, section 7.4.1).
            transport.send_close(WSCloseCode.OK if code == NO_STATUS else code)  # type: ignore[arg-type]
        transport.disconnect()
        self._rearm(self._limits.close_seconds, self._abort)

    def _refuse(self, code: int, reason: str) -> None:
        self._owner.log.info("media_socket_refused", code=code, reason=reason)
        self.close(code, reason)

    def _drop(self, reason: str, **fields: float) -> None:
        self._owner.log.warning("media_socket_dropped", reason=reason, **fields)
        self._ending = (ABNORMAL, reason)
        self._abort()

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.disconnect(False)

    def _failure(self, transport: WSTransport) -> tuple[int, str]:
        """Return why a socket ended that neither side closed: framing picows refused, or a loss."""
        shake = transport.close_handshake
        if shake is not None and shake.sent is not None:
            code, reason = _number(shake.sent.code), shake.sent.reason
            self._owner.log.info("media_socket_refused", code=code, reason=reason)
            return code, reason or "WebSocket protocol error"
        return ABNORMAL, "connection lost"

    def _watch(self) -> None:
        transport = self._transport
        if transport is None:
            return
        silent = self._loop.time() - self._heard
        if transport.is_close_frame_sent:
            self._abort()  # picows refused a frame and the peer did not take the close
        elif silent >= self._limits.dead_seconds:
            self._drop("no sign of life", seconds=round(silent, 1))
        else:
            if silent >= self._limits.ping_seconds:
                transport.send_ping()
            self._rearm(self._limits.ping_seconds, self._watch)

    def _rearm(self, seconds: float, then: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = FairWait(self._loop, seconds, then)

    def _fenced(self, call: object, *args: object) -> None:
        """Keep a fault of ours inside this socket."""
        try:
            call(*args)  # type: ignore[operator]
        except BaseException:  # fence: a fault of ours in one call must not touch the others
            self._owner.log.exception("fault_in_media_socket")
            self.close(INTERNAL_ERROR, "internal error")


def _number(code: WSCloseCode) -> int:
    """Return a close code as the number it is; picows' type stubs hide that."""
    return int(cast(int, code))


def _framed(messages: Sequence[bytes]) -> list[bytes]:
    """Put unmasked text frames around messages (RFC 6455, section 5.2)."""
    parts: list[bytes] = []
    for message in messages:
        size = len(message)
        if size < 126:
            parts.append(bytes((0x81, size)))
        elif size < 65536:
            parts.append(b"\x81\x7e" + size.to_bytes(2, "big"))
        else:
            parts.append(b"\x81\x7f" + size.to_bytes(8, "big"))
        parts.append(message)
    return parts
