"""A gateway of two processes: calls of every line reach theirs, and one may be killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bench.calls.gateway_process import GatewayProcess, gateway
from gateway.caller.network import NetworkSettings
from gateway.caller.phone import CallerLine, Phone
from gateway.caller.plan import CallPlan
from gateway.caller.sip import SipCaller
from gateway.caller.twilio import TwilioCaller
from gateway.caller.webrtc import WebrtcCaller
from gateway.doors.owner import proof

pytestmark = pytest.mark.live

PROCESSES = 2


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def running(tmp_path: Path) -> Iterator[GatewayProcess]:
    sip = {"enabled": True, "host": "127.0.0.1", "udp": free_port()}
    settings = {
        "server": {"port": 0, "drain": 20.0, "processes": PROCESSES},
        "sip": {**sip, "tcp": sip["udp"]},
    }
    with gateway(settings, folder=tmp_path) as process:
        yield process


async def call(line: CallerLine, seconds: float) -> Phone:
    """Hold one call for so long."""
    phone = Phone(CallPlan(hang_up_after=seconds), line.form, NetworkSettings())
    await line.call(line.new_id(), phone)
    return phone


def lines_of(of: GatewayProcess) -> list[CallerLine]:
    settings = tomllib.loads((of.folder / "parley.toml").read_text())
    port = settings["sip"]["udp"]
    token = httpx.post(
        f"{of.address}/webrtc/tokens", json={"agent": "workshop"}, headers=proof(of.address)
    ).json()["token"]
    url = f"{of.address}/webrtc/workshop"
    twilio = TwilioCaller(of.address.replace("http", "ws") + "/twilio/stream")
    sip = SipCaller(f"sip:workshop@127.0.0.1:{port}")
    over_tcp = SipCaller(f"sip:workshop@127.0.0.1:{port};transport=tcp")
    return [twilio, twilio, sip, sip, over_tcp, over_tcp, WebrtcCaller(url, token)]


async def loads(of: GatewayProcess, calls: int) -> list[tuple[int, int]]:
    """Wait until there are so many calls; give each process with how many it has."""
    found: list[tuple[int, int]] = []
    for _ in range(400):
        health = await asyncio.to_thread(of.health)
        found = [(one["pid"], one.get("calls", 0)) for one in health["processes"]]
        if sum(count for _, count in found) == calls:
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"there were never {calls} calls at once, but {found}")


async def reasons(of: GatewayProcess, calls: int) -> list[str]:
    """Wait until so many calls have ended in the log, and say why they did."""
    found: list[str] = []
    for _ in range(400):
        found = [one.fields["reason"] for one in of.lines() if one.event == "call_ended"]
        if len(found) >= calls:
            break
        await asyncio.sleep(0.05)
    assert len(found) == calls
    return found


@pytest.mark.real_time
async def test_calls_of_every_line_spread_and_find_their_process(running: GatewayProcess) -> None:
    lines = await asyncio.to_thread(lines_of, running)
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call(line, 4.0)) for line in lines]
        found = await loads(running, len(lines))
        async with httpx.AsyncClient(headers=proof(running.address)) as client:
            pages = [await client.get(f"{running.address}/metrics") for _ in range(3)]
        for page in pages:  # the same, whichever process was asked
            assert [f'process="{n}"' in page.text for n in range(3)] == [True, True, False]
            begun = re.findall(r"^parley_calls_active\{.* (\d+)$", page.text, re.MULTILINE)
            assert sum(map(int, begun)) == len(lines)
    assert min(count for _, count in found) >= 2
    # Each hung up by itself: what was asked for the call's end reached its process.
    assert [one.result().outcome for one in calls] == [("caller", "done")] * len(lines)
    await loads(running, 0)
    await reasons(running, len(lines))
    page = lines[-1]
    assert isinstance(page, WebrtcCaller)
    again = await call(page, 1.0)  # a pass is used once, whichever process is asked
    assert again.outcome is not None
    assert "used before" in again.outcome[1]


@pytest.mark.real_time
async def test_a_killed_process_takes_its_own_calls_along_and_is_back(
    running: GatewayProcess,
) -> None:
    lines = (await asyncio.to_thread(lines_of, running))[:4]
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call(line, 9.0)) for line in lines]
        before = await loads(running, len(lines))
        (_, lost), (other_pid, kept) = before
        assert lost
        assert kept
        os.kill(before[0][0], signal.SIGKILL)
        while True:
            after = await loads(running, kept)
            # For a moment the one that is lost still stands there, without its calls.
            if len(after) == PROCESSES and after[0][0] != before[0][0]:
                break
            await asyncio.sleep(0.05)
        assert after[1] == (other_pid, kept)
        again = group.create_task(call(lines[0], 1.0))
        other = group.create_task(call(lines[2], 1.0))
    assert [one.result().outcome for one in (again, other)] == [("caller", "done")] * 2
    assert (await reasons(running, 6)).count("process lost") == lost
    ended = [one.result().outcome for one in calls]
    assert ended.count(("caller", "done")) >= kept


@pytest.mark.real_time
async def test_all_processes_finish_their_calls_after_sigterm(running: GatewayProcess) -> None:
    lines = await asyncio.to_thread(lines_of, running)
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call(line, 5.0)) for line in lines]
        await loads(running, len(lines))
        running.process.send_signal(signal.SIGTERM)
        async with httpx.AsyncClient() as client:
            for _ in range(100):
                answer = await client.get(f"{running.address}/readyz")
                if answer.json() == {"ready": False, "reason": "draining", "cause": ""}:
                    break
                await asyncio.sleep(0.05)
            else:
                raise AssertionError("it never drains")
            full = await client.get(f"{running.address}/readyz?for=drain")
            assert full.status_code == 503
    assert [one.result().outcome for one in calls] == [("caller", "done")] * len(lines)
    assert running.process.wait(20) == 0
    await reasons(running, len(lines))


@pytest.mark.wide
@pytest.mark.parametrize("processes", [1, 2])
def test_sighup_takes_what_may_change_and_says_what_may_not(tmp_path: Path, processes: int) -> None:
    with gateway({"server": {"port": 0, "processes": processes}}, folder=tmp_path) as running:
        file = tmp_path / "parley.toml"
        file.write_text(file.read_text() + "[limits]\ncalls = 77\nplaced_per_hour = 5\n")
        running.process.send_signal(signal.SIGHUP)
        told = said(running, "setting_refused", 1) + said(running, "setting_changed", 1)
        assert [(one["setting"], one["before"], one["after"]) for one in told] == [
            ("limits.placed_per_hour", "100", "5"),
            ("limits.calls", "50", "77"),
        ]
        file.write_text("[limits]\ncalls = 'many'\n")
        running.process.send_signal(signal.SIGHUP)
        (wrong,) = said(running, "settings_not_read", 1)
        assert "limits.calls" in str(wrong["mistakes"])
        assert running.health()["calls"] == 0  # it goes on
        assert running.stop() == 0


def said(by: GatewayProcess, event: str, count: int) -> list[dict[str, object]]:
    """Wait for messages of a kind."""
    found: list[dict[str, object]] = []
    for _ in range(200):
        lines = by.messages.read_text().splitlines()
        found = [one for line in lines if (one := json.loads(line))["event"] == event]
        if len(found) >= count:
            break
        time.sleep(0.05)
    assert len(found) == count, found
    return found
