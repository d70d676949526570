"""Networks that break under a call: for some seconds, or for good but for another way."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.peers.webrtc.gateway import Gateway, gateway, wait
from tests.peers.webrtc.network import ADDRESS, browser_in, network
from tests.peers.webrtc.visitor import WIDGET, Visitor, chromium
from tests.support.peers import requires_program

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

pytestmark = pytest.mark.slow


@contextmanager
def visit_in(
    enter: list[str], driver: Playwright, folder: Path
) -> Iterator[tuple[Gateway, Visitor]]:
    """Hold a call within a network, up to the end of the greeting."""
    settings = f'[webrtc]\naddresses = ["{ADDRESS}"]\n'
    with (
        gateway(folder / "gateway", settings, enter) as served,
        chromium(driver, folder, program=browser_in(enter, folder)) as browser,
        browser.visit(served.link) as guest,
    ):
        guest.press("Start call")
        guest.connected()
        guest.answered(1)
        yield served, guest


def goes_on(guest: Visitor) -> None:
    """See that the conversation goes on after the connection came back."""
    guest.connected()
    wait(lambda: "You are connected again." in guest.saying(), 10, "nothing was said")
    guest.page.evaluate(f"{WIDGET}.sendText('Hello?')")
    guest.answered(2)
    guest.hang_up()


def test_a_network_that_breaks_for_some_seconds_costs_nothing_of_the_conversation(
    driver: Playwright, tmp_path: Path
) -> None:
    with (
        network() as enter,
        visit_in(enter, driver, tmp_path) as (served, guest),
    ):
        subprocess.run([*enter, "ip", "link", "set", "lo", "down"], check=True)
        guest.reconnecting()
        assert "Reconnecting" in guest.saying()
        time.sleep(3)
        subprocess.run([*enter, "ip", "link", "set", "lo", "up"], check=True)
        goes_on(guest)
        assert "page_away" in served.messages()
        assert "page_back" in served.messages()


@requires_program("iptables")
def test_a_way_that_is_closed_for_good_is_left_for_another_by_ice_restart(
    driver: Playwright, tmp_path: Path
) -> None:
    with (
        network() as enter,
        visit_in(enter, driver, tmp_path) as (served, guest),
    ):
        ports = served.ports()
        assert ports
        for port in ports:
            rule = f"iptables -A INPUT -p udp --dport {port} -j DROP"
            subprocess.run([*enter, *rule.split()], check=True)
        guest.reconnecting()
        goes_on(guest)
        assert "ice_restarted" in served.messages()


@requires_program("iptables")
def test_a_page_to_which_nothing_comes_any_more_says_so_within_two_seconds(
    driver: Playwright, tmp_path: Path
) -> None:
    with (
        network() as enter,
        visit_in(enter, driver, tmp_path) as (served, guest),
    ):
        (port,) = served.ports()
        rule = f"INPUT -p udp --sport {port} -j DROP"
        broke = time.monotonic()
        subprocess.run([*enter, "iptables", "-A", *rule.split()], check=True)
        guest.reconnecting()
        assert time.monotonic() - broke < 2.3  # with what it takes to look
        assert "Reconnecting" in guest.saying()
        subprocess.run([*enter, "iptables", "-D", *rule.split()], check=True)
        guest.connected()
        guest.hang_up()
