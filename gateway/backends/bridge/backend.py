"""A speech model of one's own, reached over the bridge protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from gateway.backends.bridge import wire
from gateway.backends.socket import ModelSocket
from gateway.events import AnswerTool, BackendCommand, BackendLost, BackendReady, ReplyEnded
from gateway.ports import BackendEvent, BackendStart, BackendTraits
from media.frame import AudioFrame

EARLY = 1500
"""Frames and commands kept until the model is ready: half a minute, beyond any time-out."""

log = structlog.get_logger("bridge")

Emit = Callable[[BackendEvent], None]


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """Where the model is, and what it can do."""

    url: str
    name: str = "bridge"
    api_key: str = field(
        default="", repr=False, metadata={"env": "BRIDGE_API_KEY", "env_in": "key_variable"}
    )
    "sent as a bearer token"
    key_variable: str = "BRIDGE_API_KEY"
    "the environment variable that holds the key, where several models have one each"
    owns_turns: bool = False
    truncates: bool = True
    tools: bool = True
    connect_seconds: float = 5.0
    hang_seconds: float = 2.4
    "an answer of which no sound has come by then is asked for again, then from the next fallback"


class BridgeBackend:
    """One call's model; passes everything on and decides nothing."""

    def __init__(self, settings: BridgeSettings) -> None:
        self.traits = BackendTraits(
            owns_turns=settings.owns_turns,
            truncates=settings.truncates,
            drafts=False,
            tools=settings.tools,
            wants_transcript=True,
            hang_seconds=settings.hang_seconds,
        )
        self._settings = settings
        self._socket: ModelSocket | None = None
        self._form = ""
        self._emit: Emit = lambda event: None
        self._early: list[BackendCommand | AudioFrame] = []
        self._ready = asyncio.Event()

    async def run(self, start: BackendStart, emit: Emit) -> None:
        """Serve one call until cancelled."""
        settings = self._settings
        self._emit = emit
        self._form = start.info.codec if start.info.codec in ("pcmu", "pcma") else "l16"
        socket = ModelSocket(self._message, on_closed=self._ready.set)
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        try:
            await socket.open(settings.url, headers, settings.connect_seconds)
            socket.send(wire.start(start))
            async with asyncio.timeout(settings.connect_seconds):
                await self._ready.wait()
            self._socket = socket
            emit(BackendReady(settings.name))
            for early in self._early:
                self.hear(early) if isinstance(early, AudioFrame) else self.perform(early)
            self._early.clear()
            await socket.closed.wait()
            emit(BackendLost(socket.reason))
        except (OSError, TimeoutError) as broken:
            emit(BackendLost(str(broken) or "the model was not ready in time"))
        finally:
            socket.send('{"type":"end"}')
            socket.close()

    def hear(self, frame: AudioFrame) -> None:
        """Pass the caller's sound on, as it came where it can."""
        if self._socket is None:
            self._keep(frame)
        elif self._form == "l16":
            self._socket.send_bytes(frame.pcm)
        elif frame.codec == self._form:
            self._socket.send_bytes(frame.payload)
        else:  # silence that stands for what never came
            quiet = b"\xff" if self._form == "pcmu" else b"\xd5"
            self._socket.send_bytes(quiet * (len(frame.pcm) // 2))

    def perform(self, command: BackendCommand) -> None:
        """Pass a command on."""
        if self._socket is None:
            self._keep(command)
            return
        if isinstance(command, AnswerTool) and command.ends:
            self._emit(ReplyEnded(command.reply))
        message = wire.command(command)
        if message is not None:
            self._socket.send(message)

    async def words(self, start: int, end: int) -> str | None:
        """Return nothing: the model writes a turn down when it is over, if at all."""
        return None

    def done(self, at: int) -> float | None:
        """Return nothing: a model that judges turns decides them."""
        return None

    def _keep(self, early: BackendCommand | AudioFrame) -> None:
        if len(self._early) < EARLY:
            self._early.append(early)

    def _message(self, message: bytes) -> None:
        try:
            # Text messages are JSON objects; the header of sound begins with a small number.
            if message[:1] == b"{":
                event = wire.event(wire.parse(message))
            else:
                event = wire.parse_sound(message, self._form)
        except ValueError as wrong:
            log.info("bad_message", reason=str(wrong)[:200])
            return
        if event is None:
            self._ready.set()
        else:
            self._emit(event)
