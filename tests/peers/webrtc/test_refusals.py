"""Calls that cannot be: each has its reason, its words and a way on, and leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.peers.webrtc.gateway import CLEAN_SECONDS, Gateway, wait
from tests.peers.webrtc.site import Site, site
from tests.peers.webrtc.visitor import WIDGET, Chromium


@pytest.fixture
def stranger(served: Gateway) -> Iterator[Site]:
    """Serve a site whose pages may not call."""
    with site(served.url) as one:
        yield one


def test_a_visitor_who_does_not_allow_the_microphone_may_type(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    with browser.visit(home.url, microphone=False) as guest:
        guest.press("Talk to us")
        assert guest.failure()["kind"] == "denied"
        assert "This page may not use your microphone" in guest.saying()
        assert served.is_clean()
        guest.press("Type without a microphone")
        guest.connected()
        guest.page.evaluate(f"{WIDGET}.sendText('Good morning.')")
        wait(lambda: guest.captions("caller") == ["Good morning."], 20, "not heard")
        guest.hang_up()


def test_a_page_that_may_not_call_is_told_so(
    browser: Chromium, served: Gateway, stranger: Site
) -> None:
    before = served.calls()
    stranger.attributes = ""
    with browser.visit(stranger.url) as guest:
        guest.press("Talk to us")
        failure = guest.failure()
        assert (failure["kind"], failure["detail"]) == ("origin_refused", stranger.url)
        assert "This website is not allowed to place calls here." in guest.saying()
        assert guest.button("Try again").is_enabled()
        assert served.calls() == before
        assert served.is_clean()


def test_a_page_that_may_not_call_may_not_with_a_token_either(
    browser: Chromium, served: Gateway, home: Site, stranger: Site
) -> None:
    before = served.calls()
    stranger.attributes = f'token="{home.token()}"'
    with browser.visit(stranger.url) as guest:
        guest.press("Talk to us")
        assert guest.failure()["kind"] == "origin_refused"
        assert served.calls() == before


def test_a_token_opens_one_call_and_not_for_long(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    with browser.visit(home.url) as guest:
        give = f"{WIDGET}.getToken = () => given"
        home.grant = {"life": 0.5}
        guest.page.evaluate(f"window.given = '{home.token()}'; {give}")
        time.sleep(0.6)
        guest.press("Talk to us")
        assert guest.failure()["kind"] == "token_expired"
        assert "has run out" in guest.saying()
        home.grant = {}
        guest.page.evaluate(f"window.given = '{home.token()}'")
        guest.press("Try again")
        guest.connected()
        guest.hang_up()
        wait(served.is_clean, CLEAN_SECONDS, "the call is still there")
        guest.press("Call again")
        assert guest.failure(2)["kind"] == "token_used"
        assert "was used already" in guest.saying()


@pytest.mark.wide
def test_a_gateway_that_is_busy_says_when_to_try_again(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    with browser.visit(home.url) as first:
        first.call()
        guest = browser.open(first.page.context.new_page(), home.url)
        guest.press("Talk to us")
        failure = guest.failure()
        assert failure["kind"] == "busy"
        assert failure["retryAfter"] > 0
        assert "All lines are busy" in guest.saying()
        assert "Try again in" in guest.saying()
        first.page.bring_to_front()
        first.hang_up()
        wait(served.is_clean, CLEAN_SECONDS, "the call is still there")
        guest.page.bring_to_front()
        guest.press("Try again")
        guest.connected()
        guest.hang_up()


def test_a_visitor_who_gives_up_while_connecting_leaves_nothing(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    with browser.visit(home.url) as guest:
        # A network that lets the offer through and nothing else.
        guest.page.evaluate("RTCPeerConnection.prototype.setRemoteDescription = () => {}")
        before = served.calls()
        guest.press("Talk to us")
        wait(served.ports, 10, "the offer did not come")
        guest.pass_time(0.8)  # sooner it would be the second half of a double click
        guest.press("Cancel")
        wait(lambda: not served.ports(), 5, "the place is kept for a visitor who is gone")
        assert served.calls() == before
