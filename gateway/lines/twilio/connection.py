"""One media socket from its upgrade to its end: parses, asks the machine, does what that says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, assert_never

import structlog

from gateway.doors.table import Who
from gateway.lines.twilio import stream, wire
from gateway.lines.twilio.leg import TwilioLeg
from gateway.lines.twilio.settings import TwilioSettings
from gateway.lines.twilio.tokens import Ticket
from gateway.lines.websocket.socket import MediaSocket
from media.codec import WireForm

if TYPE_CHECKING:
    pass


class StreamLine(Protocol):
    """What a stream asks of its line."""

    settings: TwilioSettings

    def admit(self, start: wire.StartDetail, who: Who) -> Ticket | stream.Refused:
        """Return whether a stream may begin, and as whose call."""

    def begin(
        self, ticket: Ticket, start: wire.StartDetail, form: WireForm, socket: MediaSocket
    ) -> TwilioLeg:
        """Begin the call of a stream."""

    def forget(self, leg: TwilioLeg) -> None:
        """Let go of a leg whose socket is down."""

    def missed(self, start: wire.StartDetail | None, refused: stream.Refused, peer: str) -> None:
        """Write down a stream that began no call."""


class TwilioStream:
    """Lives as long as one socket; decides nothing about who may call."""

    def __init__(self, line: StreamLine, peer: str, who: Who) -> None:
        self._who = who
        self._peer = peer
        self._started: wire.StartDetail | None = None
        self._line = line
        self._loop = asyncio.get_running_loop()
        self._machine = stream.MediaStream(self._loop.time() + line.settings.start_seconds)
        self._socket: MediaSocket | None = None
        self._leg: TwilioLeg | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.log: structlog.typing.FilteringBoundLogger = structlog.get_logger("twilio").bind(
            peer=peer
        )

    def opened(self, socket: MediaSocket) -> None:
        """Take the socket."""
        self._socket = socket
        if self._machine.deadline is not None:
            self._timer = self._loop.call_at(self._machine.deadline, self._expired)

    def received(self, text: memoryview) -> None:
        """Take one message."""
        try:
            message = wire.parse(text)
        except ValueError as error:
            outcomes = self._machine.malformed(str(error))
        else:
            outcomes = self._machine.handle(message, self._loop.time())
        leg = self._leg
        for outcome in outcomes:
            if leg is not None and isinstance(outcome, stream.Heard):  # fifty times a second
                leg.hear(outcome.frame)
            else:
                self._perform(outcome)

    def closed(self, code: int, reason: str) -> None:
        """Take that the socket is down."""
        self._disarm()
        if self._leg is None:
            self.log.info("stream_closed_before_start", code=code, reason=reason)
            return
        self._line.forget(self._leg)
        self._leg.lost(code, reason)

    def _perform(self, outcome: stream.Outcome) -> None:
        match outcome:
            case stream.Heard(frame=frame):
                if self._leg is not None:
                    self._leg.hear(frame)
            case stream.Echoed(name=name):
                self._echoed(name)
            case stream.Pressed(key=key):
                if self._leg is not None:
                    self._leg.pressed(key)
            case stream.Opened(start=start, form=form):
                self._start(start, form)
            case stream.Stopped():
                self._stopped()
            case stream.Refused():
                self._refuse(outcome)
            case stream.Noted(what=what, detail=detail):
                self.log.info("stream_odd", what=what, detail=detail)
            case _:
                assert_never(outcome)

    def _start(self, start: wire.StartDetail, form: WireForm) -> None:
        self._disarm()
        self.log = self.log.bind(call_id=start.call_sid)
        self._started = start
        admitted = self._line.admit(start, self._who)
        if isinstance(admitted, stream.Refused):
            self._refuse(admitted)
            return
        assert self._socket is not None, "messages come after `opened`"
        self.log.info("stream_started", agent=admitted.agent)
        self._leg = self._line.begin(admitted, start, form, self._socket)

    def _echoed(self, name: str) -> None:
        if self._leg is None:
            return
        try:
            self._leg.echoed(name, self._loop.time())
        except ValueError as error:
            self.log.info("stream_odd", what="strange mark", detail=str(error))

    def _stopped(self) -> None:
        if self._leg is not None:
            self._leg.stopped()
        if self._socket is not None:
            self._socket.close()

    def _refuse(self, refused: stream.Refused) -> None:
        self.log.info("stream_refused", code=refused.code, reason=refused.reason)
        if self._leg is None:
            self._line.missed(self._started, refused, self._peer)
        if self._socket is not None:
            self._socket.close(refused.code, refused.reason)

    def _expired(self) -> None:
        for outcome in self._machine.expire():
            self._perform(outcome)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
