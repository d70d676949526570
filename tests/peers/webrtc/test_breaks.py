"""What breaks in a call: each ends or recovers as described, and leaves nothing behind."""

from __future__ import annotations

import time

import pytest

from tests.peers.webrtc.gateway import CLEAN_SECONDS, Gateway, wait
from tests.peers.webrtc.site import Site
from tests.peers.webrtc.visitor import WIDGET, Chromium


@pytest.mark.wide
def test_a_gateway_that_stood_still_goes_on_with_the_conversation(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    with browser.visit(home.url) as guest:
        guest.call()
        wait(lambda: guest.events("caption"), 20, "no greeting")
        name = served.calls()[-1]
        served.pause()
        try:
            guest.reconnecting()
            assert "Reconnecting" in guest.saying()
        finally:
            served.go_on()
        guest.connected()
        guest.answered(1)
        guest.page.evaluate(f"{WIDGET}.sendText('Hello?')")
        guest.answered(2)
        assert guest.events("error") == []
        assert served.calls()[-1] == name
        guest.hang_up()
        assert served.wait_for("call_ended", name).fields["ended_by"] == "caller"


@pytest.mark.wide
def test_a_gateway_that_came_back_anew_has_lost_the_call_and_takes_another(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    with browser.visit(home.url) as guest:
        guest.call()
        other = browser.open(guest.page.context.new_page(), home.url)
        served.kill()
        try:
            other.press("Talk to us")
            # The site's own server is asked first, and has nobody to ask.
            assert other.failure()["kind"] == "token_missing"
            other.page.evaluate(f"{WIDGET}.getToken = () => 'any'")
            other.press("Try again")
            assert other.failure(2)["kind"] == "unreachable"
            assert "cannot be reached" in other.saying()
            other.page.close()
        finally:
            served.start()
        assert guest.failure()["kind"] in ("gone", "lost")
        assert "The connection was lost" in guest.saying()
        guest.press("Try again")
        guest.connected()
        guest.hang_up()


@pytest.mark.parametrize(
    "how", ["closed", "reloaded", pytest.param("crashed", marks=pytest.mark.wide)]
)
def test_a_page_that_is_left_leaves_nothing_at_the_gateway(
    how: str, browser: Chromium, served: Gateway, home: Site
) -> None:
    with browser.visit(home.url) as guest:
        guest.call()
        name = served.calls()[-1]
        left = time.monotonic()
        match how:
            case "closed":
                guest.page.close(run_before_unload=True)
            case "reloaded":
                guest.page.reload()
            case _:
                browser.crash()
        ended = served.wait_for("call_ended", name, CLEAN_SECONDS)
        wait(served.is_clean, CLEAN_SECONDS - (time.monotonic() - left), "something is left")
        assert ended.fields["ended_by"] == ("failure" if how == "crashed" else "caller")
        if how == "reloaded":
            guest.call()
            guest.hang_up()
