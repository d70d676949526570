"""The shell around a model's session: connects, passes messages, renews before its time is up.

What a protocol says is a pure `ModelSession`; this is the same for all that speak over a WebSocket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import structlog

from gateway.backends.carried import Carried, said_since
from gateway.backends.socket import ModelSocket
from gateway.events import BackendCommand, BackendLost, CallerWords, Entry, Json
from gateway.plumbing.wire_json import known, parse
from gateway.ports import BackendEvent, BackendStart, BackendTraits
from media.frame import AudioFrame

IDLE_LOOK = 1.0
"""Seconds between looks for a quiet moment, once a session is old enough to be renewed."""

QUIET_LOOK = 0.1
"""Seconds between looks for the end of what is under way, once the next session is up."""

LATE_RENEWAL = 240.0
"""How long a quiet moment is waited for; then the session is renewed in whatever there is."""

RETRY_RENEWAL = 5.0
"""Seconds until a renewal that failed is tried again, while the old session still serves."""

EARLY = 1500
"""Frames kept until the session is up: half a minute, far beyond any connect time-out."""

FINAL_ERRORS = frozenset(
    {
        "insufficient_quota",
        "rate_limit_exceeded",
        "invalid_api_key",
        "model_not_found",
        "session_expired",
        "beta_api_shape_disabled",
    }
)
"""Errors after which the next try would fail too: the call goes on elsewhere at once."""

log = structlog.get_logger("backend")

Emit = Callable[[BackendEvent], None]


@dataclass(slots=True)
class Output:
    """What follows in a session: messages for the server, in order, and events for the call."""

    send: list[str] = field(default_factory=list)
    emit: list[BackendEvent] = field(default_factory=list)
    renew: bool = False
    "the server wants to be connected to anew"
    complaint: Mapping[str, Any] | None = None
    "what the server says is wrong, for the operator"
    lost: str = ""
    "why nothing more can be had of this session; it is closed"

    def tell_words(self, turn: int, said: str) -> str:
        """Tell the call what the caller said, where it is anything; give what is left to tell."""
        if not said.strip():
            return said
        self.emit.append(CallerWords(turn, said.strip(), final=True))
        return ""


def tool_arguments(text: str) -> Json:
    """Parse a request's arguments; what is no JSON object counts as none given."""
    try:
        arguments = parse(text or "{}")
    except ValueError:
        arguments = {}
    return arguments if isinstance(arguments, dict) else {}


def known_arguments(arguments: Json) -> Json:
    """Take arguments that came as an object; as none given where they hold what nobody holds."""
    try:
        known(arguments)
    except ValueError:
        return {}
    return arguments


class ModelSession(Protocol):
    """One session of a model, as a pure machine."""

    @property
    def ready(self) -> bool:
        """The server has taken the configuration."""

    @property
    def busy(self) -> bool:
        """A turn or a reply is under way."""

    def opening(self) -> list[str]:
        """Return what is sent as soon as the socket is up."""

    def hear(self, frame: AudioFrame) -> Output | None:
        """Take the caller's sound; give what follows, if anything does."""

    def perform(self, command: BackendCommand) -> Output:
        """Take a command of the call."""

    def receive(self, message: bytes) -> Output:
        """Take a message of the server; raises ValueError for what is none."""

    def catch_up(self, said: tuple[Entry, ...]) -> list[str]:
        """Return what tells of what was said since the session was opened, before it serves."""

    def closing(self) -> list[str]:
        """Return what is sent before the session is left: the protocol's own goodbye."""


class Channel(Protocol):
    """What a session's messages go over: a `ModelSocket`, or a vendor's own stream."""

    reason: str
    "why it is over"

    @property
    def answered(self) -> asyncio.Event:
        """Set when it is known whether the server takes it, which may be after it is open."""

    @property
    def closed(self) -> asyncio.Event:
        """Set when it is over, whoever ended it."""

    async def open(self, url: str, headers: Mapping[str, str], seconds: float) -> None:
        """Connect; raises OSError or TimeoutError with a reason that holds no secret."""

    async def serve(self) -> None:
        """Do, once it is open, what needs a task of its own; returns at once where nothing does."""

    def send(self, text: str) -> None:
        """Send a message without waiting."""

    def close(self) -> None:
        """Say goodbye and close."""


MakeChannel = Callable[[Callable[[bytes], None], Callable[[], None]], Channel]
"""Makes a channel of what takes its messages and what is told of its end."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How a server is reached."""

    name: str
    url: str
    headers: Mapping[str, str]
    "with secrets; never logged"
    connect_seconds: float
    session_seconds: float
    "a session is renewed before this age"
    late_seconds: float = LATE_RENEWAL
    "how much longer a quiet moment for that is waited for"


class SessionBackend:
    """One call's model: a session, and after it the next one, unnoticed."""

    def __init__(
        self,
        traits: BackendTraits,
        reach: Reach,
        make: Callable[[BackendStart], ModelSession],
        channel: MakeChannel = ModelSocket,
    ) -> None:
        self.traits = traits
        self._reach = reach
        self._make = make
        self._make_channel = channel
        self._group: asyncio.TaskGroup | None = None
        self._emit: Emit = lambda event: None
        self._session: ModelSession | None = None
        self._socket: Channel | None = None
        self._early: list[BackendCommand | AudioFrame] = []
        self._renew = asyncio.Event()
        self._carried = Carried()

    async def run(self, start: BackendStart, emit: Emit) -> None:
        """Serve one call until cancelled."""
        self._emit = emit
        async with asyncio.TaskGroup() as group:
            self._group = group
            await self._serve(start, emit)

    async def _serve(self, start: BackendStart, emit: Emit) -> None:
        try:
            self._session, self._socket = await self._open(start)
            for early in self._early:
                self.hear(early) if isinstance(early, AudioFrame) else self.perform(early)
            self._early.clear()
            while await self._grown_old():
                await self._renewed(start)
            assert self._socket is not None
            emit(BackendLost(self._socket.reason))
        except OSError as broken:  # TimeoutError is one
            emit(BackendLost(str(broken) or "the server did not answer in time"))
        finally:
            if self._socket is not None:
                self._leave(self._session, self._socket)

    def _leave(self, session: ModelSession | None, socket: Channel) -> None:
        """Close a session's channel, with the protocol's own goodbye where it has one."""
        for message in () if session is None else session.closing():
            socket.send(message)
        socket.close()

    def hear(self, frame: AudioFrame) -> None:
        """Take the caller's sound."""
        if self._session is None or self._socket is None:
            if len(self._early) < EARLY:
                self._early.append(frame)
            return
        self._carried.hear(frame)
        output = self._session.hear(frame)
        if output is not None:
            self._put(output, self._socket)

    def perform(self, command: BackendCommand) -> None:
        """Pass a command on."""
        if self._session is None or self._socket is None:
            self._early.append(command)
            return
        self._carried.perform(command)
        self._put(self._session.perform(command), self._socket)

    async def words(self, start: int, end: int) -> str | None:
        """Return nothing: these models write a turn down when it is over, if at all."""
        return None

    def done(self, at: int) -> float | None:
        """Return nothing: a model that judges turns decides them."""
        return None

    # --- sessions ----------------------------------------------------------------------------

    async def _open(self, start: BackendStart) -> tuple[ModelSession, Channel]:
        """Open a session that is configured; it does not serve yet."""
        reach = self._reach
        self._renew.clear()  # what the new session says of itself may come before it is ready
        session = self._make(start)
        ready = asyncio.Event()
        socket = self._make_channel(
            lambda message: self._message(session, socket, ready, message), ready.set
        )
        await socket.open(reach.url, reach.headers, reach.connect_seconds)
        with ExitStack() as given_up:
            given_up.callback(self._leave, session, socket)
            await self._configured(start, session, socket, ready)
            given_up.pop_all()
        return session, socket

    async def _configured(
        self, start: BackendStart, session: ModelSession, socket: Channel, ready: asyncio.Event
    ) -> None:
        """Wait until the server has taken the configuration; raises OSError where it does not."""
        reach = self._reach
        assert self._group is not None
        self._group.create_task(socket.serve())
        for message in session.opening():
            socket.send(message)
        if not await _set_within(socket.answered, reach.connect_seconds):
            log.info("not_answered_yet", backend=reach.name, call_id=start.info.call_id)
        if session.ready:  # a protocol in which the server says nothing by itself
            ready.set()
        if not await _set_within(ready, reach.connect_seconds):
            raise TimeoutError("the session was not configured in time")
        if not session.ready or socket.closed.is_set():
            raise OSError(socket.reason)

    async def _renewed(self, start: BackendStart) -> None:
        """Open the next session; the present one serves until that is up and nothing under way."""
        assert self._socket is not None
        known = start.recall()
        try:
            session, socket = await self._open(replace(start, history=known))
            with ExitStack() as given_up:
                given_up.callback(self._leave, session, socket)
                await self._quiet(socket)
                given_up.pop_all()
        except OSError as broken:
            if self._socket.closed.is_set():
                raise
            log.warning("renewal_failed", backend=self._reach.name, reason=str(broken))
            await _set_within(self._socket.closed, RETRY_RENEWAL)
            self._renew.set()
            return
        self._hand_over(session, socket, known, start.recall())
        log.info("session_renewed", backend=self._reach.name, call_id=start.info.call_id)

    async def _quiet(self, next_one: Channel) -> None:
        """Wait until the call may go over to the next session; raises OSError if that is lost."""
        now = asyncio.get_running_loop().time
        last = now() + self._reach.late_seconds
        while self._session is not None and self._session.busy and now() < last:
            if self._socket is None or self._socket.closed.is_set():
                break
            if await _set_within(next_one.closed, QUIET_LOOK):
                raise OSError(next_one.reason)

    def _hand_over(
        self,
        session: ModelSession,
        socket: Channel,
        known: tuple[Entry, ...],
        said: tuple[Entry, ...],
    ) -> None:
        old, before = self._socket, self._session
        self._socket, self._session = socket, session
        for message in session.catch_up(said_since(known, said)):
            socket.send(message)
        written = bool(said) and said[-1].role == "caller"
        for output in self._carried.give(session.hear, session.perform, written=written):
            if output is not None:
                self._put(output, socket)
        if old is not None:
            self._leave(before, old)

    def _message(
        self, session: ModelSession, socket: Channel, ready: asyncio.Event, message: bytes
    ) -> None:
        try:
            output = session.receive(message)
        except ValueError as wrong:
            log.info("bad_event", backend=self._reach.name, reason=str(wrong)[:200])
            return
        if output.complaint is not None:
            log.warning("model_error", backend=self._reach.name, **output.complaint)
        self._put(output, socket)
        if session.ready:
            ready.set()

    def _put(self, output: Output, socket: Channel) -> None:
        for message in output.send:
            socket.send(message)
        for event in output.emit:
            self._carried.told(event)
            self._emit(event)
        if output.renew:
            self._renew.set()
        if output.lost:
            socket.reason = output.lost
            socket.close()

    async def _grown_old(self) -> bool:
        """Wait until the session should be renewed (True) or is over (False)."""
        socket = self._socket
        assert socket is not None
        loop = asyncio.get_running_loop()
        until = loop.time() + self._reach.session_seconds
        while loop.time() < until and not self._renew.is_set():
            wait = min(IDLE_LOOK, until - loop.time())
            if await _set_within(socket.closed, wait):
                return False
        # Who asks for it closes soon: the next one is opened in whatever moment this is.
        last = loop.time() + (0.0 if self._renew.is_set() else self._reach.late_seconds)
        while self._session is not None and self._session.busy and loop.time() < last:
            if await _set_within(socket.closed, IDLE_LOOK):
                return False
        return not socket.closed.is_set()


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
