"""Asks over the bus, for commands: who has which call, and what is to be done to one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import msgspec
from nats.aio.client import Client
from nats.errors import Error, NoRespondersError
from nats.js.errors import KeyNotFoundError, NoKeysError, NotFoundError

from gateway.bus.connecting import connected
from gateway.bus.names import Names, key
from gateway.bus.settings import BusSettings
from gateway.bus.wire import Command, Held, Order, read_answer, read_held
from gateway.plumbing.wire_json import decode, parse

T = TypeVar("T")

ANSWER_SECONDS = 6.0
"""The longest that a gateway may take for an answer."""

RING_SECONDS = 200.0
"""Longer than any phone rings."""

TRIES = 3
"""Gateways that are asked to place a call, where the first ones are full."""


def reached(settings: BusSettings) -> str:
    """Return the server that answers, and has JetStream; raises OSError, ValueError."""

    async def ask(client: Client) -> str:
        await client.jetstream(timeout=2.0).account_info()
        url = client.connected_url
        return "" if url is None else f"{url.hostname}:{url.port}"

    return _run(settings, ask)


def calls(settings: BusSettings) -> list[Held]:
    """Return the calls in progress on all machines, the oldest first; raise OSError, ValueError."""

    async def ask(client: Client) -> list[Held]:
        try:
            bucket = await client.jetstream().key_value(Names(settings.name).calls)
            watcher = await bucket.watchall(ignore_deletes=True)
        except NotFoundError:
            return []
        found: list[Held] = []
        async for entry in watcher:
            if entry is None:  # that was all, as it is now
                break
            found.append(decode(read_held, entry.value or b""))
        await watcher.stop()  # type: ignore[no-untyped-call]
        return sorted(found, key=lambda held: held.since)

    return _run(settings, ask)


def act(settings: BusSettings, command: Command) -> str:
    """Have a call's gateway do it; return why it was not done, empty: it was.

    Raise OSError or ValueError where the bus cannot be asked.
    """

    async def ask(client: Client) -> str:
        names, call = Names(settings.name), command.call
        try:
            bucket = await client.jetstream().key_value(names.calls)
            held = decode(read_held, (await bucket.get(key(call))).value or b"")
        except (NotFoundError, KeyNotFoundError, NoKeysError):
            return f"nobody has a call named {call}"
        try:
            said = await client.request(
                names.node(held.node), msgspec.json.encode(command), ANSWER_SECONDS
            )
        except NoRespondersError:
            return f"{held.node} has the call, and takes no commands: bus.commands is false there"
        return decode(read_answer, said.data).error

    return _run(settings, ask)


def dial(settings: BusSettings, order: Order, told: Callable[[dict[str, object]], None]) -> str:
    """Have any gateway place a call, and tell what happens; return its outcome.

    Where one is full another is asked. Raise OSError or ValueError where the bus cannot be asked.
    """

    async def ask(client: Client) -> str:
        last: dict[str, object] = {}
        for left in reversed(range(TRIES)):
            async for event in _placed(client, Names(settings.name).dial, order):
                last = event
                if event.get("outcome") != "unavailable" or not left:
                    told(event)
            if last.get("outcome") != "unavailable":
                break
        if "error" in last:
            raise ValueError(str(last["error"]))
        return str(last.get("outcome", ""))

    return _run(settings, ask)


async def _placed(client: Client, subject: str, order: Order) -> AsyncIterator[dict[str, object]]:
    inbox = client.new_inbox()
    heard = await client.subscribe(inbox)
    await client.publish(subject, msgspec.json.encode(order), reply=inbox)
    try:
        while True:
            message = await heard.next_msg(timeout=RING_SECONDS)
            if (message.headers or {}).get("Status") == "503":
                raise ValueError("no gateway on the bus takes commands")
            event = parse(message.data)
            if not isinstance(event, dict):
                raise ValueError("a gateway said something that is no JSON object")
            yield event
            if "outcome" in event or "error" in event:
                return
    finally:
        await heard.unsubscribe()


def _run(settings: BusSettings, ask: Callable[[Client], Awaitable[T]]) -> T:
    async def main() -> T:
        async with connected(settings, "parley") as client:
            return await ask(client)

    try:
        return asyncio.run(main())
    except Error as error:
        why = str(error).removeprefix("nats: ").strip("'") or type(error).__name__
        if "authorization" in why.lower():  # it has no type of its own while connecting
            why = "does not let us in: bus.user, PARLEY_BUS_PASSWORD, PARLEY_BUS_TOKEN"
            raise ValueError(f"bus.url: {settings.url}: {why}") from None
        raise ConnectionError(f"bus.url: {settings.url}: {why}") from None
    except OSError as error:
        raise ConnectionError(f"bus.url: {settings.url}: {error}") from None
