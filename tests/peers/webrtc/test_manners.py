"""What pages do with the widget and visitors with their fingers, and no call may be lost by."""

from __future__ import annotations

import pytest

from tests.peers.webrtc.gateway import Gateway
from tests.peers.webrtc.site import Site
from tests.peers.webrtc.visitor import WIDGET, Chromium

MOVED = f"""(() => {{
  const place = document.createElement("div");
  document.body.append(place);
  place.append({WIDGET});
}})()"""

SET_BEFORE = """
const early = document.querySelector("parley-widget");
early.getToken = async () => { window.asked = true; return (await (await fetch("/token", {method: "POST"})).json()).token; };
early.labels = { launcher: "Ring us" };
early.muted = true;
"""  # noqa: E501


def test_a_double_click_a_moved_element_and_typed_text(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    with browser.visit(home.url) as guest:
        guest.button("Talk to us").dblclick()
        guest.connected()
        guest.answered(1)
        guest.page.evaluate(MOVED)
        assert guest.page.evaluate(f"{WIDGET}.sendText('When do you open?')")
        guest.answered(2)
        assert guest.captions("caller") == ["When do you open?"]
        assert guest.page.evaluate(f"{WIDGET}.phase") == "connected"
        sounding = f"!{WIDGET}.shadowRoot.querySelector('audio').paused"
        assert guest.page.evaluate(sounding), "an element that is moved is paused by the browser"
        guest.hang_up()
        said = guest.page.evaluate(f"{WIDGET}.transcript")
        assert [one["who"] for one in said] == ["agent", "caller", "agent"]
        assert "When do you open?" in guest.saying(), "what was said stays to be read"


@pytest.mark.wide
def test_what_a_page_sets_before_the_widget_is_there_holds(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    # A module is run when the page is read: a script behind the element is there before it.
    home.attributes = f"></parley-widget><script>{SET_BEFORE}</script><i hidden"
    with browser.visit(home.url) as guest:
        guest.press("Ring us")
        guest.connected()
        assert guest.page.evaluate("window.asked")
        assert guest.page.evaluate(f"{WIDGET}.muted")


@pytest.mark.wide
@pytest.mark.parametrize("direction", ["ltr", "rtl"])
@pytest.mark.parametrize("position", ["bottom-left", "bottom-right"])
def test_left_and_right_are_what_they_are(
    browser: Chromium, served: Gateway, home: Site, direction: str, position: str
) -> None:
    home.attributes += f' position="{position}"'
    with browser.visit(home.url) as guest:
        guest.page.evaluate(f"document.documentElement.dir = '{direction}'")
        box = guest.button("Talk to us").bounding_box()
        assert box is not None
        middle = guest.page.evaluate("innerWidth") / 2
        assert (box["x"] < middle) == (position == "bottom-left")


@pytest.mark.wide
def test_consent_comes_before_the_microphone_and_chat_needs_none(
    browser: Chromium, served: Gateway, home: Site
) -> None:
    home.attributes += ' consent="Calls are recorded." mode="both"'
    with browser.visit(home.url) as guest:
        guest.press("Talk to us")
        assert "Calls are recorded." in guest.saying()
        assert guest.page.evaluate(f"{WIDGET}.phase") == "idle"
        guest.press("Write instead")
        guest.connected()
        guest.answered(1)
        assert guest.page.evaluate(f"{WIDGET}.shadowRoot.querySelector('audio').muted")
        assert not guest.button("Mute").is_visible()
        guest.hang_up()
        states = {one["state"] for one in guest.events("state")}
        assert "waiting" not in states, "who only writes is there all the same"
