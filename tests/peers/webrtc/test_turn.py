"""Visitors whose network lets nothing through but a relay: coturn, with passwords that expire."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.peers.webrtc.gateway import ROOT, gateway, wait
from tests.peers.webrtc.network import ADDRESS, browser_in, network
from tests.peers.webrtc.visitor import chromium
from tests.support.peers import requires_program

if TYPE_CHECKING:
    import pytest
    from playwright.sync_api import Playwright

pytestmark = pytest.mark.slow

SECRET = "a secret shared with coturn"
RELAY_ONLY = """
const Plain = RTCPeerConnection;
window.RTCPeerConnection = class extends Plain {
  constructor(configuration) { super({ ...configuration, iceTransportPolicy: "relay" }); }
};
"""


@contextmanager
def relay(enter: list[str], log: Path, secret: str) -> Iterator[None]:
    """Run coturn with the configuration that is shipped, its own network allowed as a peer."""
    command = [
        "turnserver",
        "-c",
        str(ROOT / "deploy/turn/turnserver.conf"),
        f"--static-auth-secret={secret}",
        f"--listening-ip={ADDRESS}",
        f"--relay-ip={ADDRESS}",
        f"--allowed-peer-ip={ADDRESS}",
        "--verbose",
        "--no-tls",
        "--no-dtls",
        f"--pidfile={log}.pid",
        f"--userdb={log}.db",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen([*enter, *command], stdout=output, stderr=output)
    try:
        wait(lambda: "auth thread" in log.read_text(errors="replace"), 10, "no coturn")
        yield
    finally:
        process.terminate()
        process.wait(10)


@requires_program("turnserver", "ip")
def test_a_call_goes_over_a_relay_with_a_password_for_this_call(
    driver: Playwright, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = f'[webrtc]\naddresses = ["{ADDRESS}"]\nice = ["turn:{ADDRESS}:3478?transport=udp"]\n'
    monkeypatch.setitem(os.environ, "PARLEY_TURN_SECRET", SECRET)
    log = tmp_path / "coturn.log"
    with (
        network() as enter,
        relay(enter, log, SECRET),
        gateway(tmp_path / "gateway", settings, enter) as served,
        chromium(driver, tmp_path, program=browser_in(enter, tmp_path)) as browser,
        browser.visit(served.link) as guest,
    ):
        guest.page.add_init_script(RELAY_ONLY)
        guest.page.reload()
        guest.press("Start call")
        guest.connected()
        guest.answered(1)
        guest.press("Hang up")
        said = log.read_text(errors="replace")
        assert "ALLOCATE processed, success" in said


@requires_program("turnserver", "ip")
def test_a_relay_with_another_secret_lets_nobody_through(
    driver: Playwright, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = f'[webrtc]\naddresses = ["{ADDRESS}"]\nice = ["turn:{ADDRESS}:3478?transport=udp"]\n'
    monkeypatch.setitem(os.environ, "PARLEY_TURN_SECRET", SECRET)
    with (
        network() as enter,
        relay(enter, tmp_path / "coturn.log", "another"),
        gateway(tmp_path / "gateway", settings, enter) as served,
        chromium(driver, tmp_path, program=browser_in(enter, tmp_path)) as browser,
        browser.visit(served.link) as guest,
    ):
        guest.page.add_init_script(RELAY_ONLY)
        guest.page.reload()
        guest.press("Start call")
        assert guest.failure()["kind"] == "no_way"
        assert "Your network does not let the call through" in guest.saying()
        wait(lambda: served.calls() == [], 5, "a call began without a connection")
