"""The unit of deploy/systemd, and what a gateway does for systemd."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from bench.calls.gateway_process import ROOT, settings_text
from gateway.plumbing.systemd import held_sockets, notify
from tests.peers.sip.phones import free_tcp_port
from tests.support.peers import requires_program

UNIT = ROOT / "deploy/systemd/parley.service"
EXPOSED_MOST = 2.0
START_SECONDS = 60


@requires_program("systemd-analyze")
def test_the_unit_is_closed() -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"exposure level for parley.service: ([0-9.]+)", said)
    assert found is not None, said
    assert float(found[1]) < EXPOSED_MOST


def test_calls_have_longer_to_finish_than_the_gateway_gives_them() -> None:
    from gateway.config import ServerSettings

    found = re.search(r"TimeoutStopSec=(\d+)", UNIT.read_text())
    assert found is not None
    assert int(found[1]) >= ServerSettings().drain + 60


@pytest.mark.live
@pytest.mark.real_time
@requires_program("systemd-socket-activate")
async def test_who_connects_before_the_gateway_serves_is_answered_when_it_does(
    tmp_path: Path,
) -> None:
    port, told = free_tcp_port(), tmp_path / "told"
    config = tmp_path / "parley.toml"
    config.write_text(settings_text({"server": {"processes": 2}}))
    passed = {"NOTIFY_SOCKET": str(told), "PYTHONPATH": str(ROOT), "HOME": os.environ["HOME"]}
    options = [part for name, value in passed.items() for part in ("-E", f"{name}={value}")]
    command = ["systemd-socket-activate", "-l", f"127.0.0.1:{port}", *options]
    command += [sys.executable, "-m", "gateway", "serve", "-c", str(config)]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(told))
        notified.setblocking(False)
        with (tmp_path / "said").open("wb") as said:
            running = subprocess.Popen(command, stdout=said, stderr=said)  # noqa: ASYNC220
        try:
            transport = httpx.AsyncHTTPTransport(retries=5)  # until the port is held
            async with httpx.AsyncClient(
                transport=transport, timeout=START_SECONDS, trust_env=False
            ) as client:
                answer = await client.get(f"http://127.0.0.1:{port}/healthz")
            assert answer.json()["alive"]
            async with asyncio.timeout(START_SECONDS):
                state = await asyncio.get_running_loop().sock_recv(notified, 100)
            assert state == b"READY=1"
        finally:
            running.terminate()
            status = await asyncio.to_thread(running.wait, 30)
    assert status == 0


def test_nothing_is_held_for_another_process_and_nobody_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LISTEN_PID", "1")
    monkeypatch.setenv("LISTEN_FDS", "1")
    assert held_sockets() == []
    assert "LISTEN_FDS" not in os.environ  # a process that this one starts must not take it
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/at/all")
    notify("READY=1")
