"""How the widget and the page look in each state, and that everybody can use them.

Pictures of each state at desktop and phone width, light and dark, are written to
`build/screenshots`; they are to be looked at.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.peers.webrtc.gateway import Gateway, wait
from tests.peers.webrtc.site import site
from tests.peers.webrtc.visitor import Visitor, speech, visitor

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

pytestmark = pytest.mark.slow

PICTURES = Path(__file__).parents[3] / "build/screenshots"
SIZES = {"desktop": (1280, 820), "phone": (390, 780)}

needs_axe = pytest.mark.skipif(
    importlib.util.find_spec("axe_playwright_python") is None,
    reason="not installed: axe-playwright-python (pip install axe-playwright-python)",
)


def pictures(guest: Visitor, state: str) -> None:
    """Take a picture in each size and theme."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for size, (width, height) in SIZES.items():
        guest.page.set_viewport_size({"width": width, "height": height})
        for theme in ("light", "dark"):
            guest.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            time.sleep(0.3)
            guest.page.screenshot(path=PICTURES / f"{state}-{size}-{theme}.png")


def violations(guest: Visitor) -> list[str]:
    """Ask axe what is wrong, in both themes."""
    from axe_playwright_python.sync_playwright import Axe

    found: list[str] = []
    for theme in ("light", "dark"):
        guest.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        time.sleep(0.3)
        for one in Axe().run(guest.page).response["violations"]:
            where = [node["target"] for node in one["nodes"]]
            found.append(f"{theme}: {one['id']}: {one['help']}: {where}")
    return found


def states(driver: Playwright, served: Gateway, folder: Path) -> Iterator[tuple[str, Visitor]]:
    """Bring the widget into each of its states, one after the other."""
    microphone = speech(folder / "mic.wav", 8.5, "complete/tel_ibm2_howcanihelp.flac", 120.0)
    with site(served.url) as page:
        with visitor(driver, page.url, permission="deny") as guest:
            yield "launcher", guest
            guest.page.evaluate("document.querySelector('parley-widget').open()")
            yield "open", guest
            guest.press("Start call")
            guest.failure()
            yield "denied", guest
        with visitor(driver, page.url, microphone) as guest:
            guest.page.evaluate("hesitation = 4000")
            guest.press("Talk to us")
            yield "asking", guest
            guest.connected()
            guest.wait_for("document.querySelector('parley-widget').state === 'speaking'")
            time.sleep(2)
            yield "speaking", guest
            wait(lambda: len(guest.captions("agent")) >= 2, 40, "no turn was held")
            time.sleep(0.5)
            yield "listening", guest
            guest.press("Mute")
            yield "muted", guest
            guest.press("Unmute")
            served.pause()
            guest.wait_for("document.querySelector('parley-widget').phase === 'reconnecting'", 15)
            yield "reconnecting", guest
            served.go_on()
            guest.connected()
            guest.press("Hang up")
            guest.wait_for("document.querySelector('parley-widget').phase === 'ended'")
            yield "ended", guest


def each_state(
    driver: Playwright, served: Gateway, folder: Path, look: Callable[[str, Visitor], Any]
) -> None:
    seen = [look(state, guest) for state, guest in states(driver, served, folder)]
    assert len(seen) == 9


def test_pictures_of_each_state(driver: Playwright, served: Gateway, tmp_path: Path) -> None:
    each_state(driver, served, tmp_path, lambda state, guest: pictures(guest, state))
    assert len(list(PICTURES.glob("speaking-*.png"))) == 4


@needs_axe
def test_everybody_can_use_the_widget(driver: Playwright, served: Gateway, tmp_path: Path) -> None:
    wrong: list[str] = []
    each_state(
        driver,
        served,
        tmp_path,
        lambda state, guest: wrong.extend(f"{state}: {one}" for one in violations(guest)),
    )
    assert wrong == []


@needs_axe
def test_everybody_can_use_the_gateways_page(
    driver: Playwright, served: Gateway, tmp_path: Path
) -> None:
    with visitor(driver, served.url, speech(tmp_path / "mic.wav", 5.0)) as guest:
        time.sleep(1)
        pictures(guest, "page")
        assert violations(guest) == []


def test_the_keyboard_is_enough(driver: Playwright, served: Gateway, tmp_path: Path) -> None:
    with (
        site(served.url) as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 60.0)) as guest,
    ):
        keyboard = guest.page.keyboard
        keyboard.press("Tab")
        keyboard.press("Enter")
        guest.connected()
        focused = "document.querySelector('parley-widget').shadowRoot.activeElement?.textContent"
        assert guest.page.evaluate(focused) == "Hang up"
        keyboard.press("Shift+Tab")
        assert guest.page.evaluate(focused) == "Mute"
        keyboard.press("Space")
        assert "Your microphone is off" in guest.saying()
        keyboard.press("Escape")
        assert guest.page.evaluate(focused) == "Talk to us"
        assert guest.events("end")[0]["by"] == "caller"


def test_states_are_said_aloud(driver: Playwright, served: Gateway, tmp_path: Path) -> None:
    with (
        site(served.url) as page,
        visitor(driver, page.url, speech(tmp_path / "mic.wav", 60.0)) as guest,
    ):
        guest.page.evaluate(
            "(() => { window.aloud = []; const w = document.querySelector('parley-widget');"
            "new MutationObserver(() => aloud.push(w.voice.textContent))"
            ".observe(w.voice, { childList: true, characterData: true, subtree: true }); })()"
        )
        guest.press("Talk to us")
        guest.connected()
        wait(lambda: guest.captions("agent"), 20, "no greeting")
        guest.press("Hang up")
        guest.wait_for("document.querySelector('parley-widget').phase === 'ended'")
        aloud: list[str] = guest.page.evaluate("aloud.filter(Boolean)")
        assert "Connecting" in aloud
        assert "Listening" in aloud
        assert aloud[-1].startswith("Call ended")
        assert "Speaking" not in aloud  # it would be said over the agent's voice
