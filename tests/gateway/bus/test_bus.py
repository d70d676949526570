"""The bus: every event once and in order whatever the server does, and commands from anywhere."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from bench.calls.gateway_process import gateway
from gateway.bus import client
from gateway.bus.bus import Bus
from gateway.bus.settings import BusSettings
from gateway.bus.wire import Command, Order
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import Phone
from gateway.caller.place import parse_target
from gateway.caller.plan import CallPlan
from gateway.caller.twilio import TwilioCaller
from gateway.log_events import (
    CallEndedLogged,
    CallerSpokeLogged,
    CallStartedLogged,
    TransferLogged,
)
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings
from gateway.observe.vocabulary import EVENTS, event_name
from tests.gateway.bus.server import Server, server

__all__ = ["server"]

KINDS = ("call_started", "transfer", "call_ended")
PATIENCE = 20.0

STARTED = CallStartedLogged(
    line="sip", caller="+19005550123", callee="+19005550100", agent="workshop",
    direction="inbound", codec="pcmu",
)  # fmt: skip


class Calls:
    """Calls in progress that note what is done to them, and on which thread."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.done: list[tuple[str, ...]] = []
        self.threads: set[str] = set()

    def hang_up(self, call: str, by: str) -> bool:
        self.threads.add(threading.current_thread().name)
        self.done.append(("hang_up", call, by))
        return call in self.names

    def transfer(self, call: str, to: str, by: str) -> bool:
        if to == "nowhere":
            raise KeyboardInterrupt
        self.done.append(("transfer", call, to, by))
        return call in self.names


class Gateway:
    """A log with a bus, as a process has them."""

    def __init__(self, folder: Path, url: str, key: str = "", **settings: object) -> None:
        self.settings = BusSettings(url=url, events=KINDS, **settings)  # type: ignore[arg-type]
        self.told: list[bool] = []
        self.bus = Bus(
            self.settings,
            folder / "data",
            own=("http://127.0.0.1:9", key),
            tell=lambda counts, there: self.told.append(there),
        )
        self.journal = Journal(LogSettings(path=str(folder / "calls.jsonl")), readers=(self.bus,))

    def begin(self, name: str) -> None:
        self.journal.bind(name, 0.0).write(STARTED)

    def call(self, name: str, transfers: int = 3) -> None:
        log = self.journal.bind(name, 0.0)
        log.write(STARTED)
        for number in range(transfers):
            log.write(TransferLogged(accepted=True, reason=str(number)))
        log.write(CallerSpokeLogged(text="this is nobody else's business"))
        log.write(CallEndedLogged(reason="done", ended_by="caller", seconds=1.0, turns=1))

    def stop(self) -> None:
        self.journal.close()


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The gateway's own loop, on a thread that stands for its first one."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever, name="calls")
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


def until(true: Callable[[], bool]) -> None:
    """Wait for another process."""
    end = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    assert true()


def told(server: Server) -> dict[str, list[str]]:
    """Return each call's events in their order, as kinds and reasons."""
    found: dict[str, list[str]] = {}
    for subject, body in server.events():
        event = json.loads(body)
        assert subject.split(".")[-1] == event["type"]
        reason = event["data"].get("reason", "")
        found.setdefault(event["call"], []).append(f"{event['type']} {reason}".strip())
    return found


WHOLE = ["call_started", "transfer 0", "transfer 1", "transfer 2", "call_ended done"]


def test_every_event_comes_once_and_in_order_although_the_server_is_killed(
    server: Server, tmp_path: Path
) -> None:
    gateway = Gateway(tmp_path, server.url)
    for number in range(20):
        gateway.call(f"a{number}")
    until(lambda: len(told(server)) >= 5)
    server.kill()
    for number in range(20):
        gateway.call(f"b{number}")
    until(lambda: gateway.told[-1:] == [False])
    server.start()
    for number in range(20):
        gateway.call(f"c{number}")
    until(lambda: gateway.bus.counts.taken == 300)
    gateway.stop()
    assert told(server) == {f"{kind}{number}": WHOLE for kind in "abc" for number in range(20)}


def test_what_a_process_left_the_next_one_publishes(server: Server, tmp_path: Path) -> None:
    server.kill()
    gateway = Gateway(tmp_path, server.url)
    gateway.call("CA1")
    until(lambda: gateway.bus.counts.waiting == 5)
    gateway.stop()
    server.start()
    other = Gateway(tmp_path, server.url)
    until(lambda: told(server) == {"CA1": WHOLE})
    other.stop()


def test_a_server_that_forgot_everything_is_set_up_again(server: Server, tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, server.url, commands=True)
    gateway.begin("CA1")
    until(lambda: len(server.events()) == 1)
    server.lose_everything()
    server.start()
    gateway.begin("CA2")
    until(lambda: [held.call for held in client.calls(gateway.settings)] == ["CA1", "CA2"])
    gateway.stop()


def test_a_stream_that_somebody_else_made_stays_as_it_is(server: Server, tmp_path: Path) -> None:
    import nats

    async def made() -> None:
        there = await nats.connect(server.url)
        await there.jetstream().add_stream(
            name="acme-events", subjects=["acme.events.>"], max_msgs=7
        )
        await there.close()

    asyncio.run(made())
    gateway = Gateway(tmp_path, server.url, name="acme")
    gateway.call("CA1")
    gateway.call("CA2")
    until(lambda: gateway.bus.counts.taken == 10)
    gateway.stop()
    assert len(server.events("acme")) == 7


def test_who_has_which_call_is_known_and_commands_find_them(
    server: Server, tmp_path: Path, loop: asyncio.AbstractEventLoop
) -> None:
    one, other = (Gateway(tmp_path / n, server.url, commands=True, node=n) for n in ("one", "two"))
    first, second = Calls("CA1"), Calls("a call@b.example")
    one.bus.acts.act_on(first, loop)
    other.bus.acts.act_on(second, loop)
    one.begin("CA1")
    other.begin("a call@b.example")
    until(lambda: len(client.calls(one.settings)) == 2)
    held = {each.call: each for each in client.calls(one.settings)}
    assert held["CA1"].node.startswith("one-")
    assert (held["CA1"].agent, held["CA1"].line) == ("workshop", "sip")
    assert "+1900" not in repr(held)  # nothing that is personal
    assert client.act(one.settings, Command("hang_up", "a call@b.example", "ada")) == ""
    assert client.act(one.settings, Command("transfer", "CA1", "ada", "sales")) == ""
    assert second.done == [("hang_up", "a call@b.example", "ada")]
    assert first.done == [("transfer", "CA1", "sales", "ada")]
    assert second.threads == {"calls"}
    assert "nobody has a call" in client.act(one.settings, Command("hang_up", "CA9", "ada"))
    # What breaks is told to whoever asked, and the next command is taken.
    broken = client.act(one.settings, Command("transfer", "CA1", "ada", "nowhere"))
    assert "KeyboardInterrupt" in broken or "RuntimeError" in broken
    assert client.act(one.settings, Command("transfer", "CA1", "ada", "sales")) == ""
    one.journal.bind("CA1", 0.0)
    other.journal.close()
    one.stop()


def test_a_call_that_is_over_is_nobodys(server: Server, tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, server.url, commands=True)
    gateway.begin("CA1")
    until(lambda: len(client.calls(gateway.settings)) == 1)
    gateway.call("CA2")
    until(lambda: "CA2" in told(server) and len(told(server)["CA2"]) == 5)
    until(lambda: [each.call for each in client.calls(gateway.settings)] == ["CA1"])
    gateway.stop()


def test_who_takes_no_commands_is_said(server: Server, tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, server.url)
    gateway.begin("CA1")
    until(lambda: len(client.calls(gateway.settings)) == 1)
    why = client.act(gateway.settings, Command("hang_up", "CA1", "ada"))
    assert "bus.commands is false" in why
    with pytest.raises(ValueError, match="no gateway on the bus takes commands"):
        client.dial(gateway.settings, Order("+4930123"), lambda event: None)
    gateway.stop()


def test_a_call_over_the_bus_goes_through_the_door_that_all_calls_go_through(
    server: Server, tmp_path: Path
) -> None:
    gateway = Gateway(tmp_path, server.url, commands=True)
    until(lambda: gateway.told[-1:] == [True])
    with pytest.raises(ValueError, match="SIP_API_KEY is not set"):
        client.dial(gateway.settings, Order("+4930123"), lambda event: None)
    gateway.stop()
    other = Gateway(tmp_path, server.url, key="secret", commands=True)
    until(lambda: other.told[-1:] == [True])
    with pytest.raises(ValueError, match="connect"):  # nobody listens there
        client.dial(other.settings, Order("+4930123"), lambda event: None)
    other.stop()


def test_what_a_stranger_says_on_the_bus_is_answered_and_breaks_nothing(
    server: Server, tmp_path: Path
) -> None:
    import nats

    gateway = Gateway(tmp_path, server.url, commands=True, node="one")
    gateway.begin("CA1")
    until(lambda: len(client.calls(gateway.settings)) == 1)
    (held,) = client.calls(gateway.settings)

    async def strange() -> list[str]:
        there = await nats.connect(server.url)
        said = []
        for wrong in (b"", b"[1", b'{"act": "reboot"}', b"\xff" * 1000, b"{}", b"null"):
            answer = await there.request(f"parley.node.{held.node}", wrong, 5)
            said.append(json.loads(answer.data)["error"])
        await there.close()
        return said

    assert all(asyncio.run(strange()))
    assert "starting" in client.act(gateway.settings, Command("hang_up", "CA1", "ada"))
    gateway.stop()


def test_a_server_that_wants_to_know_who_asks(tmp_path: Path) -> None:
    made = Server(tmp_path, "--auth", "open sesame")
    made.start()
    try:
        with structlog.testing.capture_logs() as logs:
            stranger = Gateway(tmp_path / "one", made.url)
            until(lambda: any(line["event"] == "bus_lost" for line in logs))
            stranger.stop()
        with pytest.raises(ValueError, match="does not let us in"):
            client.calls(stranger.settings)
        gateway = Gateway(tmp_path / "two", made.url, token="open sesame")
        gateway.begin("CA1")
        until(lambda: len(client.calls(gateway.settings)) == 1)
        gateway.stop()
    finally:
        made.kill()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "http://x"}, "bus.url: 'http://x' is none of nats://HOST:PORT"),
        ({"url": "nats://"}, "bus.url"),
        ({"url": "nats://u:secret@h:1"}, "a password has no place in a file"),
        ({"url": "nats://h", "name": "a.b"}, "bus.name: 'a.b' has more than"),
        ({"url": "nats://h", "name": ""}, "bus.name: it is empty"),
        ({"url": "nats://h", "node": "*"}, "bus.node: '*'"),
        ({"url": "nats://h", "events": ("nothing",)}, "bus.events: there is no event 'nothing'"),
        ({"url": "nats://h", "user": "u"}, "PARLEY_BUS_PASSWORD is not"),
        ({"url": "nats://a:1, tls://b:2"}, ""),
        ({}, ""),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, object], said: str) -> None:
    known = tuple(map(event_name, EVENTS))
    problem = BusSettings(**settings).problem(known)  # type: ignore[arg-type]
    assert said in problem
    assert bool(problem) == bool(said)
    assert "secret" not in problem


class Calling(threading.Thread):
    """A caller who says nothing, on a thread of their own."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.ended_by = ""
        self._target_url = target
        self.start()

    def run(self) -> None:
        self.ended_by = asyncio.run(self._call())

    async def _call(self) -> str:
        line = TwilioCaller(parse_target(self._target_url).address)
        phone = Phone(CallPlan(hang_up_after=60.0), line.form, NetworkSettings())
        await line.call(line.new_id(), phone)
        return phone.outcome[0]


@pytest.mark.live
def test_a_call_of_a_gateway_is_listed_hung_up_and_told_from_elsewhere(
    server: Server, tmp_path: Path
) -> None:
    changes = {"server": {"port": 0}, "bus": {"url": server.url, "commands": True}}
    with gateway(changes, folder=tmp_path) as process:
        settings = BusSettings(url=server.url)
        calling = Calling(process.target)
        until(lambda: len(client.calls(settings)) == 1)
        (held,) = client.calls(settings)
        assert client.act(settings, Command("hang_up", held.call, "ada")) == ""
        calling.join(20)
        assert calling.ended_by == "agent"
        until(lambda: client.calls(settings) == [])
    kinds = [subject.split(".")[-1] for subject, _ in server.events()]
    assert kinds == ["call_started", "call_ended", "call_summary"]


def test_the_client_has_the_private_name_that_is_used() -> None:
    from nats.aio.client import Client

    assert Client()._transport is None
