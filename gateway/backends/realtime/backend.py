"""The shell around Realtime sessions: connects, passes messages, renews before the time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import structlog

from gateway.backends.realtime import wire
from gateway.backends.realtime.session import Output, Session
from gateway.backends.realtime.settings import RealtimeSettings
from gateway.backends.socket import ModelSocket
from gateway.events import BackendCommand, BackendLost
from gateway.ports import BackendEvent, BackendStart, BackendTraits
from media.frame import AudioFrame
from media.resample import Resampler

MODEL_RATE = 24000
"""The API's only PCM rate."""

IDLE_LOOK = 1.0
"""Seconds between looks for a quiet moment, once a session is old enough to be renewed."""

LATE_RENEWAL = 240.0
"""How long a quiet moment is waited for; then the session is renewed in whatever there is."""

log = structlog.get_logger("realtime")

Emit = Callable[[BackendEvent], None]


class RealtimeBackend:
    """One call's Realtime model."""

    def __init__(self, settings: RealtimeSettings) -> None:
        self.traits = BackendTraits(
            owns_turns=settings.owns_turns,
            truncates=True,
            drafts=False,
            wants_transcript=True,
            formats=("pcmu", "pcma", "l16"),
            session_seconds=settings.session_seconds,
        )
        self._settings = settings
        self._emit: Emit = lambda event: None
        self._session: Session | None = None
        self._socket: ModelSocket | None = None
        self._early: list[BackendCommand | AudioFrame] = []

    async def run(self, start: BackendStart, emit: Emit) -> None:
        """Serve one call until cancelled."""
        self._emit = emit
        try:
            await self._connect(start)
            for early in self._early:
                self.hear(early) if isinstance(early, AudioFrame) else self.perform(early)
            self._early.clear()
            while await self._grown_old():
                await self._connect(replace(start, history=start.recall()))
            reason = self._socket.reason if self._socket is not None else "not connected"
            emit(BackendLost(reason))
        except (OSError, TimeoutError) as broken:
            emit(BackendLost(str(broken) or "the server did not answer in time"))
        finally:
            if self._socket is not None:
                self._socket.close()

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's sound."""
        if self._session is None or self._socket is None:
            if len(self._early) < 1500:  # half a minute: the connect time-out is far below
                self._early.append(frame)
            return
        message = self._session.hear(frame)
        if message is not None:
            self._socket.send(message)

    def perform(self, command: BackendCommand) -> None:
        """Pass a command on."""
        if self._session is None or self._socket is None:
            self._early.append(command)
            return
        self._put(self._session.perform(command), self._socket)

    async def _connect(self, start: BackendStart) -> None:
        """Open a session and, once it is configured, put it in the place of the present one."""
        settings, rate = self._settings, start.info.rate
        session = Session(
            start,
            settings,
            Resampler(rate, MODEL_RATE).feed,
            Resampler(MODEL_RATE, rate).feed,
        )
        ready = asyncio.Event()
        socket = ModelSocket(
            lambda message: self._message(session, socket, ready, message), on_closed=ready.set
        )
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        url = settings.url
        if settings.model and "model=" not in url:
            url += ("&" if "?" in url else "?") + f"model={settings.model}"
        await socket.open(url, headers, settings.connect_seconds)
        try:
            async with asyncio.timeout(settings.connect_seconds):
                await ready.wait()
        except TimeoutError:
            socket.close()
            raise TimeoutError("the session was not configured in time") from None
        if not session.ready:
            raise OSError(socket.reason)
        old, self._socket, self._session = self._socket, socket, session
        if old is not None:
            old.close()
            log.info("session_renewed", call_id=start.info.call_id)

    def _message(
        self, session: Session, socket: ModelSocket, ready: asyncio.Event, message: bytes
    ) -> None:
        try:
            event = wire.parse(message)
            output = session.receive(event)
        except ValueError as wrong:
            log.info("bad_event", reason=str(wrong)[:200])
            return
        if isinstance(event, wire.Error):
            log.warning("model_error", code=event.error.code, message=event.error.message[:200])
        self._put(output, socket)
        if session.ready:
            ready.set()

    def _put(self, output: Output, socket: ModelSocket) -> None:
        for message in output.send:
            socket.send(message)
        for event in output.emit:
            self._emit(event)

    async def _grown_old(self) -> bool:
        """Wait until the session should be renewed (True) or is over (False)."""
        socket, session = self._socket, self._session
        assert socket is not None
        assert session is not None
        if await _set_within(socket.closed, self._settings.session_seconds):
            return False
        loop = asyncio.get_running_loop()
        last = loop.time() + LATE_RENEWAL
        while session.busy and loop.time() < last:
            if await _set_within(socket.closed, IDLE_LOOK):
                return False
        return True


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
