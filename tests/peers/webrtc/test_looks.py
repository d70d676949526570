"""How the widget and the page look in each state, and that everybody can use them.

Pictures of each state at desktop and phone width, light and dark, are written to
`build/screenshots`; they are to be looked at.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import pytest

from tests.peers.webrtc.gateway import ROOT, Gateway, wait
from tests.peers.webrtc.site import Site
from tests.peers.webrtc.visitor import WIDGET, Chromium, Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Route

PICTURES = ROOT / "build/screenshots"
SIZES = {
    "desktop": (1280, 820),
    "phone": (390, 780),
    "sideways": (740, 360),
    "zoomed": (320, 256),  # a desktop at 400 %
}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

OUT_OF_SIGHT = """(() => {
  const root = document.querySelector("parley-widget")?.shadowRoot;
  return [...(root?.querySelectorAll("button") || [])].filter((one) => {
    const { top, left, bottom, right, width } = one.getBoundingClientRect();
    return width && (top < 0 || left < 0 || bottom > innerHeight + 1 || right > innerWidth + 1);
  }).map((one) => one.textContent || one.title);
})()"""
"""Buttons of the widget that are there and cannot be pressed without a way to scroll to them."""

QUESTION = "complete/tel_ibm2_howcanihelp.flac"

needs_axe = pytest.mark.skipif(
    importlib.util.find_spec("axe_playwright_python") is None,
    reason="not installed: axe-playwright-python (pip install axe-playwright-python)",
)


def look(guest: Visitor, state: str) -> list[str]:
    """Take a picture in each size and theme; give what axe finds wrong."""
    from axe_playwright_python.sync_playwright import Axe

    PICTURES.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    page = guest.page
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            hidden = [] if state == "page" else page.evaluate(OUT_OF_SIGHT)  # which scrolls
            wrong += [f"{state}, {size}: out of sight: {one}" for one in hidden]
            # The meter draws itself anew twenty times a second.
            page.evaluate("new Promise((resolve) => setTimeout(resolve, 100))")
            page.screenshot(
                path=PICTURES / f"{state}-{size}-{theme}.png",
                animations="disabled",
                full_page=state == "page",
            )
        for one in Axe().run(page).response["violations"]:
            where = [node["target"] for node in one["nodes"]]
            wrong.append(f"{state}, {theme}: {one['id']}: {one['help']}: {where}")
    return wrong


def before(browser: Chromium, home: Site) -> Iterator[tuple[str, Visitor]]:
    """Bring the widget into its states before a call, one after the other."""
    with browser.visit(home.url, microphone=False) as guest:
        yield "launcher", guest
        guest.page.evaluate(f"{WIDGET}.open()")
        yield "open", guest
        guest.press("Start call")
        guest.failure()
        yield "denied", guest


def connecting(guest: Visitor) -> Iterator[tuple[str, Visitor]]:
    """Place a call, slowly."""
    guest.page.evaluate(
        "void (window.allowed = new Promise((resolve) => (window.allow = resolve)))"
    )
    guest.press("Talk to us")
    guest.wait_for(f"{WIDGET}.phase === 'asking'")
    yield "asking", guest
    offers: list[Route] = []
    guest.page.route("**/webrtc/workshop", lambda one: offers.append(one))
    guest.page.evaluate("allow()")
    wait(lambda: guest.page.evaluate("1") and offers, 10, "no offer")
    yield "connecting", guest
    offers[0].continue_()
    guest.page.unroute("**/webrtc/workshop")
    guest.connected()


def talking(guest: Visitor) -> Iterator[tuple[str, Visitor]]:
    """Hear the greeting, and hold a turn."""
    wait(lambda: len(guest.events("caption")) > 5, 20, "no greeting")
    guest.hold()
    yield "speaking", guest
    guest.release()
    guest.answered(1)
    guest.say(QUESTION)
    guest.hold("thinking")
    yield "thinking", guest
    guest.release()
    guest.answered(2)
    yield "listening", guest
    guest.press("Mute")
    yield "muted", guest
    guest.press("Unmute")


def ending(
    browser: Chromium, served: Gateway, home: Site, guest: Visitor
) -> Iterator[tuple[str, Visitor]]:
    """Be one too many beside a call; let its connection break; hang up."""
    other = browser.open(guest.page.context.new_page(), home.url)
    other.press("Talk to us")
    other.failure()
    yield "busy", other
    other.page.close()
    guest.page.bring_to_front()
    served.pause()
    try:
        guest.reconnecting()
        yield "reconnecting", guest
        guest.pass_time(2.0)  # what mends itself sooner is not worth a word
    finally:
        served.go_on()
    guest.connected()
    wait(lambda: "You are connected again." in guest.saying(), 10, "nothing was said")
    yield "reconnected", guest
    guest.hang_up()
    yield "ended", guest


@needs_axe
@pytest.mark.wide
def test_each_state_is_pictured_and_everybody_can_use_it(
    browser: Chromium, served: Gateway, home: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {state: look(guest, state) for state, guest in before(browser, home)}
    home.attributes += ' reconnect="60"'
    with browser.visit(home.url) as guest:
        for states in (connecting(guest), talking(guest), ending(browser, served, home, guest)):
            wrong |= {state: look(one, state) for state, one in states}
    with browser.visit(served.link) as guest:
        guest.page.wait_for_load_state("load")
        wrong["page"] = look(guest, "page")
    assert len(wrong) == 14
    assert [said for found in wrong.values() for said in found] == []
    with capsys.disabled():
        print(f"\npictures of {len(wrong)} states are in {PICTURES.relative_to(ROOT)}")


def test_the_keyboard_is_enough(browser: Chromium, served: Gateway, home: Site) -> None:
    with browser.visit(home.url) as guest:
        keyboard = guest.page.keyboard
        keyboard.press("Tab")
        keyboard.press("Enter")
        guest.connected()
        focused = f"{WIDGET}.shadowRoot.activeElement?.textContent"
        assert guest.page.evaluate(focused) == "Hang up"
        keyboard.press("Shift+Tab")
        assert guest.page.evaluate(focused) == "Mute"
        keyboard.press("Space")
        assert "Your microphone is off" in guest.saying()
        keyboard.press("Escape")
        assert guest.page.evaluate(focused) == "Talk to us"
        assert guest.events("end")[0]["by"] == "caller"


def test_states_are_said_aloud(browser: Chromium, served: Gateway, home: Site) -> None:
    with browser.visit(home.url) as guest:
        guest.page.evaluate(
            "(() => { window.aloud = []; const w = document.querySelector('parley-widget');"
            "new MutationObserver(() => aloud.push(w.voice.textContent))"
            ".observe(w.voice, { childList: true, characterData: true, subtree: true }); })()"
        )
        guest.call()
        guest.answered(1)
        guest.hang_up()
        aloud: list[str] = guest.page.evaluate("aloud.filter(Boolean)")
        assert "Connecting" in aloud
        assert "Listening" in aloud
        assert aloud[-1].startswith("Call ended")
        assert "Speaking" not in aloud  # it would be said over the agent's voice
