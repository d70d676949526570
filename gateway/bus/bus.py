"""A reader of the call log that has a thread, and in it a connection to the bus.

Nothing that the server does is waited for on the log's thread or on the loop that paces the sound.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future
from pathlib import Path

import httpx
import msgspec
import structlog

from gateway.bus.link import Link
from gateway.bus.names import Names, node_name
from gateway.bus.roster import Roster
from gateway.bus.settings import BusSettings
from gateway.bus.wire import Command, Held, Order
from gateway.log_events import CallEndedLogged, CallStartedLogged, LogEvent
from gateway.observe.journal import timestamp
from gateway.ports import LiveCalls
from gateway.spool.intake import Counts, Intake
from gateway.spool.spool import Spool

CLOSE_SECONDS = 3.0
"""The longest that the end waits for what can still be published."""

LOOK_SECONDS = 1.0
"""How often it is looked whether another process of this gateway has let the spool go."""

ACT_SECONDS = 5.0
"""The longest that a command waits for the gateway's loop."""

RING_SECONDS = 200.0
"""Longer than any phone rings."""

log = structlog.get_logger("bus")

Tell = Callable[[Counts, bool], None]


class Bus:
    """What a process is on the bus."""

    def __init__(
        self,
        settings: BusSettings,
        folder: Path,
        secrets: Iterable[str] = (),
        own: tuple[str, str] = ("", ""),
        tell: Tell = lambda counts, there: None,
    ) -> None:
        """`own`: where calls are placed, and with which key. Raises OSError, sqlite3.Error."""
        host = settings.node or socket.gethostname().partition(".")[0]
        self._path = folder / "bus.sqlite"
        self._intake = Intake(settings, self._path, secrets)
        self.counts = self._intake.counts
        self.acts = Commands(own)
        self._node, self._roster = node_name(host, os.getpid()), Roster()
        self._link = Link(
            settings,
            Names(settings.name),
            self._node,
            self._roster,
            self.counts,
            self.acts,
            lambda there: tell(self.counts, there),
        )
        self._loop = asyncio.new_event_loop()
        self._wake, self._over = asyncio.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="bus", daemon=True)
        self._thread.start()

    # --- on the log's thread ---------------------------------------------------------------------

    def take(self, call: str, wall: float, at: float, event: LogEvent) -> None:
        """Keep an event that is wanted, and whose call it is."""
        heard = self._intake.take(call, wall, at, event)
        match event:
            case CallStartedLogged():
                held = Held(
                    call, self._node, event.line, event.direction, event.agent, timestamp(wall)
                )
                self._on_loop(self._roster.began, held)
            case CallEndedLogged():
                self._on_loop(self._roster.ended, call)
            case _ if not heard:
                return
            case _:
                pass
        self._on_loop(self._wake.set)

    def close(self) -> None:
        """Publish what can be at once; the rest waits on the disk for the next process."""
        self._on_loop(self._over.set)
        self._on_loop(self._wake.set)
        self._thread.join(CLOSE_SECONDS)
        self._intake.close()

    def _on_loop(self, do: Callable[..., object], *values: object) -> None:
        try:
            self._loop.call_soon_threadsafe(do, *values)
        except RuntimeError:  # the thread has ended
            log.debug("bus_closed")

    # --- on its own ------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except Exception:  # fence: the calls go on without it
            log.exception("bus_broke")
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not self._over.is_set():
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:  # another process of this gateway publishes what is in it
                    await asyncio.sleep(LOOK_SECONDS)
                    continue
                spool = Spool(self._path)
                try:
                    await self._link.run(self._wake, self._over, spool)
                finally:
                    spool.close()
        finally:
            os.close(lock)


class Commands:
    """Does what is asked over the bus."""

    def __init__(self, own: tuple[str, str]) -> None:
        self._url, self._key = own
        self._live: tuple[LiveCalls, asyncio.AbstractEventLoop] | None = None

    def act_on(self, live: LiveCalls, loop: asyncio.AbstractEventLoop) -> None:
        """Take the calls that there are, which are touched on their own loop alone."""
        self._live = live, loop

    async def do(self, command: Command) -> str:
        """Do it; return why it was not done, empty: it was."""
        if self._live is None:
            return "the gateway is only just starting"
        live, loop = self._live
        done: Future[bool] = Future()

        def act() -> None:
            try:
                if command.act == "hang_up":
                    done.set_result(live.hang_up(command.call, command.by))
                else:
                    done.set_result(live.transfer(command.call, command.to, command.by))
            except BaseException as error:  # fence: told to whoever asked
                done.set_exception(RuntimeError(repr(error)))

        loop.call_soon_threadsafe(act)
        async with asyncio.timeout(ACT_SECONDS):
            there = await asyncio.wrap_future(done)
        return "" if there else f"the call {command.call} is not in progress"

    async def place(self, order: Order) -> AsyncIterator[bytes]:
        """Place a call by the door that everybody uses, whose list of numbers holds here too."""
        if not self._key:
            yield _refused("SIP_API_KEY is not set at this gateway, so that nobody may place calls")
            return
        headers = {"Authorization": f"Bearer {self._key}"}
        timeout, asked = httpx.Timeout(10, read=RING_SECONDS), msgspec.to_builtins(order)
        try:
            async with (
                httpx.AsyncClient(timeout=timeout) as client,
                client.stream(
                    "POST",
                    f"{self._url}/sip/calls",
                    json=asked,
                    headers=headers,
                ) as response,
            ):
                async for line in response.aiter_lines():
                    yield line.encode()
        except httpx.HTTPError as error:
            yield _refused(str(error) or type(error).__name__)


def _refused(why: str) -> bytes:
    return msgspec.json.encode({"error": why})
