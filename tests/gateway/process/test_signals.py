"""The gateway as a process that is asked to stop once, twice and three times, or cannot start."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bench.calls.gateway_process import ROOT, GatewayProcess, gateway, settings_text
from gateway.caller.phone import Phone
from gateway.caller.plan import CallPlan
from tests.gateway.process.test_service import calls_in_progress, place, reason

pytestmark = pytest.mark.live

LONG = {"server": {"port": 0, "drain": 300.0}}


def stopped(process: GatewayProcess, signals: list[signal.Signals], apart: float) -> Phone:
    """Send signals while a call is in progress."""

    async def story() -> tuple[str, Phone]:
        async with asyncio.TaskGroup() as group:
            call = group.create_task(place(process, CallPlan(hang_up_after=90.0)))
            await calls_in_progress(process, 1)
            await asyncio.sleep(1.0)
            for number in signals:
                process.process.send_signal(number)
                await asyncio.sleep(apart)
        return call.result()

    return asyncio.run(story())[1]


@pytest.mark.parametrize(
    "second", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.wide)]
)
def test_a_second_signal_ends_calls_with_a_word(tmp_path: Path, second: signal.Signals) -> None:
    with gateway(LONG, folder=tmp_path) as process:
        phone = stopped(process, [signal.SIGTERM, second], 0.5)
        assert phone.outcome is not None
        assert phone.outcome[0] == "agent"
        assert process.process.wait(30) == 0
        lines = process.lines()
    assert reason(lines) == [("agent", "drained")]
    said = [line for line in lines if line.event == "agent_spoke"]
    assert said[-1].fields["kind"] == "goodbye"


@pytest.mark.wide
def test_a_third_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    with gateway(LONG, folder=tmp_path) as process:
        phone = stopped(process, [signal.SIGTERM] * 3, 0.2)
        assert phone.outcome is not None
        assert process.process.wait(10) == -signal.SIGTERM
        assert reason(process.lines()) == []


OTHERS = ("SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGHUP", "SIGALRM", "SIGIO", "SIGPROF", "SIGRTMIN")


def test_no_other_signal_ends_anything_and_each_is_told(tmp_path: Path) -> None:
    with gateway(LONG, folder=tmp_path) as process:
        signals = [signal.Signals[name] for name in OTHERS]
        stopped(process, [*signals, signal.SIGTERM, signal.SIGTERM], 0.1)
        assert process.process.wait(30) == 0
        assert reason(process.lines()) == [("agent", "drained")]
        messages = [json.loads(raw) for raw in process.messages.read_bytes().splitlines()]
    told = {line["event"]: line for line in messages}
    assert told["reload"]["signal"] == "SIGHUP"
    assert "journal" in told["stacks"]["threads"]
    ignored = [line["signal"] for line in messages if line["event"] == "signal_ignored"]
    assert set(OTHERS) - {"SIGQUIT", "SIGHUP"} == set(ignored)


def served(folder: Path, sections: dict[str, dict[str, object]]) -> tuple[int, str]:
    """Start a gateway that cannot start; give its status and what it said."""
    path = folder / "parley.toml"
    path.write_text(settings_text(sections))
    command = [sys.executable, "-m", "gateway", "serve", "-c", str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("parley: ")]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.returncode, "\n".join(said)


@pytest.mark.wide
def test_a_port_that_is_taken_is_said_in_one_line(tmp_path: Path) -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        place = f"cannot listen on 127.0.0.1:{port}: "
        status, said = served(tmp_path, {"server": {"port": port}})
        assert status == 1
        assert said == f"parley: server.host and server.port: {place}Address already in use"
        sip = {"enabled": True, "host": "127.0.0.1", "udp": 0, "tcp": port}
        status, said = served(tmp_path, {"sip": sip})
        assert status == 1
        assert said == f"parley: sip.host and sip.tcp: {place}Address already in use"


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (
            {"server": {"host": "no host"}},
            "server.host and server.port: cannot listen on no host:0",
        ),
        pytest.param(
            {"server": {"host": "192.0.2.1"}},
            "server.port: cannot listen on 192.0.2.1:0: Cannot as",
            marks=pytest.mark.wide,
        ),
        pytest.param({"log": {"path": "."}}, "log.path: ", marks=pytest.mark.wide),
        pytest.param(
            {"sip": {"enabled": True, "udp": 0, "tcp": 0, "authorities": "gone"}},
            "sip.authorities: ",
            marks=pytest.mark.wide,
        ),
        pytest.param(
            {"sip": {"enabled": True, "udp": 0, "tcp": 0, "hold_music": "gone"}},
            "sip.hold_music: ",
            marks=pytest.mark.wide,
        ),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(
    tmp_path: Path, sections: dict[str, dict[str, object]], said: str
) -> None:
    status, told = served(tmp_path, sections)
    assert status == 1
    assert said in told
    assert told.count("\n") == 0
