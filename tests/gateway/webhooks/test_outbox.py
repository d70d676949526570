"""Webhooks: every event once and in order, whoever dies meanwhile."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gateway.log_events import (
    CallEndedLogged,
    CallerSpokeLogged,
    CallRefusedLogged,
    CallStartedLogged,
    TransferLogged,
)
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings
from gateway.spool.spool import Spool
from gateway.webhooks.outbox import Outbox
from gateway.webhooks.settings import WebhookSettings
from gateway.webhooks.signing import headers

SECRET = "a secret that two systems share"
KINDS = ("call_started", "transfer", "call_ended", "call_refused")
PATIENCE = 20.0

STARTED = CallStartedLogged(
    line="sip", caller="+19005550123", callee="+19005550100", agent="workshop",
    direction="inbound", codec="pcmu",
)  # fmt: skip


class Receiver:
    """The receiver's process, on one port for good."""

    def __init__(self, folder: Path) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            self.port = taken.getsockname()[1]
        self.file = folder / "received.jsonl"
        self.file.touch()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.gateway.webhooks.receiver"]
        self.process = subprocess.Popen([*command, str(self.port), str(self.file), SECRET])

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def received(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    made = Receiver(tmp_path)
    yield made
    made.kill()


class Gateway:
    """A log with an outbox, as a process has them."""

    def __init__(self, folder: Path, url: str, **settings: object) -> None:
        chosen = WebhookSettings(url=url, events=KINDS, secret=SECRET, **settings)  # type: ignore[arg-type]
        self.outbox = Outbox(chosen, folder / "data", pause=0.05)
        self.journal = Journal(
            LogSettings(path=str(folder / "calls.jsonl")), readers=(self.outbox,)
        )

    def call(self, name: str, transfers: int = 2) -> None:
        log = self.journal.bind(name, 0.0)
        log.write(STARTED)
        for number in range(transfers):
            log.write(TransferLogged(accepted=True, reason=str(number)))
        log.write(CallerSpokeLogged(text="this is nobody else's business"))
        log.write(CallEndedLogged(reason="done", ended_by="caller", seconds=1.0, turns=1))

    def stop(self) -> None:
        self.journal.close()


def until(true: Callable[[], bool]) -> None:
    """Wait for another process."""
    end = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    assert true()


def kinds(of: Receiver, call: str) -> list[str]:
    found = [each for each in of.received() if each["call"] == call]
    return [
        f"{each['type']} {each['data']['reason']}"  # type: ignore[index]
        if each["type"] == "transfer"
        else str(each["type"])
        for each in found
    ]


WHOLE = ["call_started", "transfer 0", "transfer 1", "call_ended"]


@pytest.mark.real_time
def test_every_event_comes_once_and_in_order_whoever_dies(
    receiver: Receiver, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{receiver.port}/events"
    first = Gateway(tmp_path, url)
    receiver.start()
    first.call("one")
    until(lambda: len(receiver.received()) == 4)
    (tmp_path / "die").touch()  # it keeps the next event, and dies before it says so
    first.call("two")
    until(lambda: receiver.process is not None and receiver.process.poll() is not None)
    (tmp_path / "die").unlink()
    for number in range(20):
        first.call(f"while it is away {number}")
    first.stop()  # the gateway is restarted, and the receiver is still away
    second = Gateway(tmp_path, url)
    assert second.outbox.counts.waiting > 60
    second.call("three")
    receiver.start()
    until(lambda: len(receiver.received()) >= 4 * 23)
    until(lambda: second.outbox.counts.waiting == 0)
    second.stop()
    names = ["one", "two", "three", *(f"while it is away {number}" for number in range(20))]
    assert {name: kinds(receiver, name) for name in names} == dict.fromkeys(names, WHOLE)
    assert len({each["id"] for each in receiver.received()}) == len(receiver.received()) == 92


@pytest.mark.real_time
def test_past_the_bound_events_are_dropped_and_counted(receiver: Receiver, tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, f"http://127.0.0.1:{receiver.port}/", spool_most=3)
    gateway.call("one")
    gateway.stop()
    assert gateway.outbox.counts.dropped == 1


def test_one_that_is_never_taken_holds_up_its_own_call_alone(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.sqlite")
    for call, body in (("a", b"a1"), ("a", b"a2"), ("b", b"b1"), ("", b"n1"), ("", b"n2")):
        spool.push(call, body, 1.0)
    assert [each.body for each in spool.due(5.0, 9)] == [b"a1", b"b1", b"n1", b"n2"]
    spool.later(spool.due(5.0, 9)[0].place, 60.0)
    assert [each.body for each in spool.due(5.0, 9)] == [b"b1", b"n1", b"n2"]
    spool.close()


@pytest.mark.real_time
def test_what_is_personal_is_masked_as_the_setting_says(receiver: Receiver, tmp_path: Path) -> None:
    receiver.start()
    gateway = Gateway(tmp_path, f"http://127.0.0.1:{receiver.port}/", mask="full")
    refused = CallRefusedLogged(line="sip", direction="inbound", cause="calls", caller="+1900555")
    gateway.journal.process.write(refused)
    until(lambda: len(receiver.received()) == 1)
    gateway.stop()
    assert "1900555" not in receiver.file.read_text()


def test_the_signature_is_that_of_the_specification() -> None:
    """The example that the specification's own libraries are tested with."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    signed = headers("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330.9, body, secret)
    assert signed["webhook-timestamp"] == "1614265330"
    assert signed["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (WebhookSettings(), ""),
        (WebhookSettings(url="ftp://x", secret=SECRET), "neither https:// nor http://"),
        (WebhookSettings(url="https://x", secret="short"), "PARLEY_WEBHOOK_SECRET"),
        (WebhookSettings(url="https://x", secret=SECRET, events=("cal",)), "no event 'cal'"),
    ],
)
def test_settings_that_cannot_work_are_said(settings: WebhookSettings, said: str) -> None:
    assert (said in settings.problem(KINDS)) if said else settings.problem(KINDS) == ""
