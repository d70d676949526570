"""The gateway's own page in a real browser: what the owner's link opens, and what it leaves."""

from __future__ import annotations

from tests.peers.webrtc.gateway import Gateway
from tests.peers.webrtc.visitor import Chromium
from tests.support.owner import OWNER


def test_the_owners_link_opens_the_page_and_the_token_leaves_the_address(
    browser: Chromium, served: Gateway
) -> None:
    asked: list[str] = []
    kept = "localStorage.getItem('parley-owner')"
    token = "document.querySelector('#widget').getToken?.()"
    with browser.visit(served.url) as guest:
        assert guest.page.evaluate(kept) is None
        guest.page.on("request", lambda request: asked.append(request.url))
        guest.page.goto(served.link)  # only what stands behind the `#` has changed
        guest.page.wait_for_function(f"{token} === '{OWNER}'")
        assert guest.page.url == f"{served.url}/"
        assert asked
        assert not any("owner" in url for url in asked)
        guest.page.goto(served.url)
        guest.page.wait_for_function(f"{token} === '{OWNER}'")
        guest.page.evaluate("localStorage.setItem('parley-owner', 'of another gateway')")
        guest.page.reload()
        guest.page.wait_for_function(f"{kept} === null")
        assert guest.page.evaluate(token) is None
