"""The connection to the bus, on a loop of its own: publishes, tells the bucket, takes commands.

Whatever the server does, what waits stays on the disk until the server has it, in its order: an
event is published when the one before it is acknowledged, and again with the same id until it is.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import msgspec
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig, StorageType, StreamConfig
from nats.js.errors import NotFoundError
from nats.js.kv import KeyValue

from gateway.bus.connecting import connected
from gateway.bus.names import Names
from gateway.bus.roster import EXPIRY_SECONDS, Roster
from gateway.bus.settings import BusSettings
from gateway.bus.wire import Answer, Command, Order, read_command, read_order
from gateway.plumbing.wire_json import decode
from gateway.spool.intake import Counts
from gateway.spool.spool import Spool

ANSWER_SECONDS = 5.0
"""The longest that the server may take for an answer."""

PAUSE, LONGEST_PAUSE = 0.5, 10.0
"""Seconds after a failure; they double."""

ROUND = 50
"""Events that are read from the disk at once."""

KNOWN_SECONDS = 600.0
"""How long the stream knows an event's id, so that one which is published again counts once."""

QUEUE = "gateways"
"""Whoever is in it may be given an order; one is."""

AWAY = (Error, OSError, TimeoutError)
"""What the client raises when the server is away, refuses, or says nothing."""

log = structlog.get_logger("bus")


class Acts(Protocol):
    """What commands do, on the gateway's own loop."""

    async def do(self, command: Command) -> str:
        """Do it; return why it was not done, empty: it was."""

    def place(self, order: Order) -> AsyncIterator[bytes]:
        """Place a call, and yield what happens, a JSON object each."""


@dataclass(slots=True)
class Link:
    """What is published, and to where."""

    settings: BusSettings
    names: Names
    node: str
    roster: Roster
    counts: Counts
    acts: Acts
    tell: Callable[[bool], None]
    "is told whether the server is there, and that counts have changed"
    placing: set[asyncio.Task[None]] = field(default_factory=set)
    "orders that ring"

    async def run(self, wake: asyncio.Event, over: asyncio.Event, spool: Spool) -> None:
        """Serve until `over`; `wake` says that there is something to publish."""
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(self._serve(group, wake, over, spool))
            serving.add_done_callback(lambda _: self._stop_placing())

    def _stop_placing(self) -> None:
        for task in self.placing:
            task.cancel()

    async def _serve(
        self, group: asyncio.TaskGroup, wake: asyncio.Event, over: asyncio.Event, spool: Spool
    ) -> None:
        failed = 0
        while not over.is_set():
            try:
                async with connected(self.settings, f"parley {self.node}") as client:
                    stream = client.jetstream(timeout=ANSWER_SECONDS)
                    bucket = await self._ready(stream)
                    failed = 0
                    self.tell(True)
                    log.info("bus_connected", server=_server(client), node=self.node)
                    await self._take_commands(client, group)
                    await self._publish(client, stream, bucket, wake, over, spool)
                    self.tell(False)
                    return
            except AWAY as error:
                failed += 1
                if failed == 1:
                    log.warning("bus_lost", reason=str(error) or type(error).__name__)
            except sqlite3.Error as error:
                failed += 1
                log.warning("bus_spool_failed", reason=str(error))
            self.roster.forgotten()
            self.tell(False)
            await _either(over, min(PAUSE * 2 ** (failed - 1), LONGEST_PAUSE))

    async def _ready(self, stream: JetStreamContext) -> KeyValue:
        """Find the stream and the bucket, or make them; those that are there stay as they are."""
        try:
            await stream.stream_info(self.names.stream)
        except NotFoundError:
            await stream.add_stream(
                StreamConfig(
                    name=self.names.stream,
                    subjects=[self.names.subjects],
                    max_age=self.settings.keep_hours * 3600,
                    duplicate_window=min(KNOWN_SECONDS, self.settings.keep_hours * 3600),
                )
            )
        try:
            return await stream.key_value(self.names.calls)
        except NotFoundError:
            # In memory: what it says is told again every few seconds.
            return await stream.create_key_value(
                KeyValueConfig(
                    bucket=self.names.calls, ttl=EXPIRY_SECONDS, storage=StorageType.MEMORY
                )
            )

    # --- out -------------------------------------------------------------------------------------

    async def _publish(
        self,
        client: Client,
        stream: JetStreamContext,
        bucket: KeyValue,
        wake: asyncio.Event,
        over: asyncio.Event,
        spool: Spool,
    ) -> None:
        while True:
            wake.clear()
            last = over.is_set()
            await self._tell_bucket(bucket)
            await self._publish_events(stream, spool)
            if last:
                return
            if not client.is_connected:
                raise ConnectionError("the server is gone")
            await _either(wake, 1.0)

    async def _publish_events(self, stream: JetStreamContext, spool: Spool) -> None:
        while waiting := spool.due(time.time(), ROUND):
            for event in waiting:
                kind, call = _kind(event.body)
                subject = self.names.event(call, kind)
                try:
                    await stream.publish(
                        subject, event.body, ANSWER_SECONDS, headers={"Nats-Msg-Id": event.id}
                    )
                except AWAY:
                    self.counts.failures += 1
                    raise
                spool.done(event.place)
                self.counts.taken += 1
        self.counts.waiting = spool.count()
        self.tell(True)

    async def _tell_bucket(self, bucket: KeyValue) -> None:
        now = asyncio.get_running_loop().time()
        for where, said in self.roster.due(now):
            if said is None:
                await bucket.delete(where)
            else:
                await bucket.put(where, said)
            self.roster.told(where, said, now)

    # --- in --------------------------------------------------------------------------------------

    async def _take_commands(self, client: Client, group: asyncio.TaskGroup) -> None:
        if not self.settings.commands:
            return
        await client.subscribe(self.names.node(self.node), cb=self._command)
        await client.subscribe(self.names.dial, QUEUE, cb=partial(self._order, group))

    async def _command(self, message: Msg) -> None:
        try:
            answer = Answer(await self.acts.do(decode(read_command, message.data)))
        except ValueError as error:
            answer = Answer(str(error))
        except Exception as error:  # fence: one command must not end the others
            log.exception("bus_command_broke")
            answer = Answer(f"{type(error).__name__} at {self.node}")
        await _reply(message, msgspec.json.encode(answer))

    async def _order(self, group: asyncio.TaskGroup, message: Msg) -> None:
        try:
            order = decode(read_order, message.data)
        except ValueError as error:
            await _reply(message, msgspec.json.encode({"error": str(error)}))
            return
        task = group.create_task(self._place(message, order))  # it rings; others must not wait
        self.placing.add(task)
        task.add_done_callback(self.placing.discard)

    async def _place(self, message: Msg, order: Order) -> None:
        try:
            async for said in self.acts.place(order):
                await _reply(message, said)
        except AWAY as error:
            log.warning("bus_lost", reason=str(error) or type(error).__name__)
        except Exception:  # fence: one order must not end the others
            log.exception("bus_order_broke")


async def _reply(message: Msg, said: bytes) -> None:
    if message.reply:
        await message.respond(said)


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, for so long at most."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass


def _server(client: Client) -> str:
    url = client.connected_url
    return "" if url is None else f"{url.hostname}:{url.port}"


class _Head(msgspec.Struct):
    type: str
    call: str


_head: Any = msgspec.json.Decoder(_Head)


def _kind(body: bytes) -> tuple[str, str]:
    head: _Head = _head.decode(body)
    return head.type, head.call
