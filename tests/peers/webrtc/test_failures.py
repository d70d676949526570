"""What goes wrong for visitors: each ends or recovers as described, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.peers.webrtc.gateway import CLEAN_SECONDS, Gateway, gateway, wait
from tests.peers.webrtc.network import ADDRESS, browser_in, network
from tests.peers.webrtc.site import site
from tests.peers.webrtc.visitor import Visitor, speech, visitor
from tests.support.peers import requires_program

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

pytestmark = pytest.mark.slow

ANYBODY = '[webrtc]\norigins = ["*"]\npublic = true\n'


def call(guest: Visitor) -> None:
    """Place a call and wait until it is up."""
    guest.press("Talk to us")
    guest.connected()


# --- before the call -----------------------------------------------------------------------------


def test_a_visitor_who_does_not_allow_the_microphone_may_type(
    driver: Playwright, served: Gateway
) -> None:
    with site(served.url) as page, visitor(driver, page.url, permission="deny") as guest:
        guest.press("Talk to us")
        assert guest.failure()["kind"] == "denied"
        assert "This page may not use your microphone" in guest.saying()
        guest.press("Type without a microphone")
        guest.connected()
        guest.page.evaluate("document.querySelector('parley-widget').sendText('Good morning.')")
        wait(lambda: guest.captions("caller") == ["Good morning."], 20, "not heard")
        guest.press("Hang up")


def test_a_page_that_may_not_call_is_told_so(driver: Playwright, tmp_path: Path) -> None:
    with (
        gateway(
            tmp_path / "gateway", '[webrtc]\norigins = ["https://www.example.com"]\n'
        ) as served,
        site(served.url, attributes="") as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 5.0)) as guest,
    ):
        guest.press("Talk to us")
        failure = guest.failure()
        assert (failure["kind"], failure["detail"]) == ("origin_refused", page.url)
        assert "This website is not allowed to place calls here." in guest.saying()
        assert served.calls() == []


def test_a_token_opens_one_call_and_not_for_long(
    driver: Playwright, served: Gateway, tmp_path: Path
) -> None:
    with (
        site(served.url, grant={"life": 1.0}) as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 60.0)) as guest,
    ):
        give = "document.querySelector('parley-widget').getToken = () => given"
        guest.page.evaluate(f"window.given = '{page.token()}'; {give}")
        time.sleep(1.2)
        guest.press("Talk to us")
        assert guest.failure()["kind"] == "token_expired"
        page.grant = {}
        guest.page.evaluate(f"window.given = '{page.token()}'")
        guest.press("Try again")
        guest.connected()
        guest.press("Hang up")
        guest.press("Call again")
        wait(lambda: len(guest.events("error")) == 2, 20, "the token was taken twice")
        assert guest.failure()["kind"] == "token_used"
        assert "was used already" in guest.saying()


def test_a_gateway_that_is_busy_says_when_to_try_again(driver: Playwright, tmp_path: Path) -> None:
    with (
        gateway(tmp_path / "gateway", ANYBODY + "[limits]\ncalls = 1\n") as served,
        site(served.url, attributes="") as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 60.0)) as first,
    ):
        call(first)
        other = first.page.context.new_page()
        guest = Visitor(other)
        other.add_init_script(path=Path(__file__).parent / "ears.js")
        other.goto(page.url)
        guest.press("Talk to us")
        failure = guest.failure()
        assert failure["kind"] == "busy"
        assert failure["retryAfter"] > 0
        assert "All lines are busy" in guest.saying()
        assert "Try again in" in guest.saying()
        first.press("Hang up")
        wait(served.is_clean, CLEAN_SECONDS, "the call is still there")
        other.get_by_role("button", name="Try again", exact=True).click(timeout=20_000)
        guest.connected()


def test_a_gateway_that_is_not_there_is_unreachable(driver: Playwright, tmp_path: Path) -> None:
    with (
        gateway(tmp_path / "gateway", ANYBODY) as served,
        site(served.url, attributes="") as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 60.0)) as guest,
    ):
        assert served.process is not None
        served.process.kill()
        served.process.wait()
        guest.press("Talk to us")
        assert guest.failure()["kind"] == "unreachable"
        assert "cannot be reached" in guest.saying()


# --- in the call ---------------------------------------------------------------------------------


def test_a_gateway_that_stood_still_goes_on_with_the_conversation(
    driver: Playwright, served: Gateway, tmp_path: Path
) -> None:
    with (
        site(served.url) as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 120.0)) as guest,
    ):
        call(guest)
        wait(lambda: guest.captions("agent"), 20, "no greeting")
        name = served.calls()[-1]
        served.pause()
        time.sleep(8)
        served.go_on()
        wait(
            lambda: (
                guest.page.evaluate("document.querySelector('parley-widget').phase") == "connected"
            ),
            15,
            "lost",
        )
        guest.page.evaluate("document.querySelector('parley-widget').sendText('Hello?')")
        wait(lambda: len(guest.captions("agent")) >= 2, 20, "the conversation did not go on")
        assert served.calls()[-1] == name
        assert not any(line.event == "call_ended" for line in served.lines(name))
        guest.press("Hang up")


def test_a_gateway_that_came_back_anew_has_lost_the_call_and_takes_another(
    driver: Playwright, tmp_path: Path
) -> None:
    with (
        gateway(tmp_path / "gateway", ANYBODY) as served,
        site(served.url, attributes="") as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 120.0)) as guest,
    ):
        call(guest)
        port = served.url.rpartition(":")[2]
        assert served.process is not None
        served.process.kill()
        served.process.wait()
        settings = served.folder / "parley.toml"
        settings.write_text(settings.read_text().replace("port = 0", f"port = {port}"))
        (served.folder / "gateway.log").unlink()
        served.start()
        failure = guest.failure(40)
        assert failure["kind"] in ("gone", "lost")
        guest.press("Try again")
        guest.connected()


@pytest.mark.parametrize("how", ["closed", "reloaded", "crashed"])
def test_a_page_that_is_left_leaves_nothing_at_the_gateway(
    how: str, driver: Playwright, served: Gateway, tmp_path: Path
) -> None:
    with (
        site(served.url) as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 60.0)) as guest,
    ):
        call(guest)
        name = served.calls()[-1]
        left = time.monotonic()
        match how:
            case "closed":
                guest.page.close(run_before_unload=True)
            case "reloaded":
                guest.page.reload()
            case _:
                _crash(guest)
        ended = served.wait_for("call_ended", name, CLEAN_SECONDS + 1)
        assert time.monotonic() - left < CLEAN_SECONDS
        assert ended.fields["ended_by"] == ("failure" if how == "crashed" else "caller")
        wait(served.is_clean, 5, "something is left")
        if how == "reloaded":
            call(guest)
            guest.press("Hang up")


def _crash(guest: Visitor) -> None:
    """Let the page's process die without a word."""
    try:
        guest.page.goto("chrome://crash", timeout=3000)
    except Exception:  # fence: a page that has died answers with whatever it likes
        return


# --- the network ---------------------------------------------------------------------------------


@contextmanager
def visit_in(
    enter: list[str], driver: Playwright, folder: Path
) -> Iterator[tuple[Gateway, Visitor]]:
    """Hold a call within a network, up to the end of the greeting."""
    microphone = speech(folder / "mic.wav", 120.0)
    with (
        gateway(folder / "gateway", f'[webrtc]\naddresses = ["{ADDRESS}"]\n', enter) as served,
        visitor(driver, served.url, microphone, program=browser_in(enter, folder)) as guest,
    ):
        guest.press("Start call")
        guest.connected()
        wait(lambda: guest.captions("agent"), 20, "no greeting")
        yield served, guest


def goes_on(guest: Visitor) -> None:
    """See that the conversation goes on after the connection came back."""
    guest.connected()
    wait(lambda: "You are connected again." in guest.saying(), 10, "nothing was said")
    guest.page.evaluate("document.querySelector('parley-widget').sendText('Hello?')")
    wait(lambda: len(guest.captions("agent")) >= 2, 20, "the conversation did not go on")
    guest.press("Hang up")


def test_a_network_that_breaks_for_some_seconds_costs_nothing_of_the_conversation(
    driver: Playwright, tmp_path: Path
) -> None:
    with (
        network() as enter,
        visit_in(enter, driver, tmp_path) as (served, guest),
    ):
        subprocess.run([*enter, "ip", "link", "set", "lo", "down"], check=True)
        guest.wait_for("document.querySelector('parley-widget').phase === 'reconnecting'", 12)
        assert "Reconnecting" in guest.saying()
        time.sleep(3)
        subprocess.run([*enter, "ip", "link", "set", "lo", "up"], check=True)
        goes_on(guest)
        messages = (served.folder / "gateway.log").read_text()
        assert "page_away" in messages
        assert "page_back" in messages


@requires_program("iptables")
def test_a_way_that_is_closed_for_good_is_left_for_another_by_ice_restart(
    driver: Playwright, tmp_path: Path
) -> None:
    with (
        network() as enter,
        visit_in(enter, driver, tmp_path) as (served, guest),
    ):
        assert served.process is not None
        seen = subprocess.run([*enter, "ss", "-unlp"], check=True, capture_output=True, text=True)
        ports = {
            line.split()[3].rpartition(":")[2]
            for line in seen.stdout.splitlines()
            if f"pid={served.process.pid}," in line
        }
        assert ports
        for port in ports:
            rule = f"iptables -A INPUT -p udp --dport {port} -j DROP"
            subprocess.run([*enter, *rule.split()], check=True)
        guest.wait_for("document.querySelector('parley-widget').phase === 'reconnecting'", 12)
        goes_on(guest)
        assert "ice_restarted" in (served.folder / "gateway.log").read_text()
