"""The call browser in a real browser: calls are found, heard, compared, taken along, and ended.

Pictures of each view in three sizes, light and dark, are written to `build/screenshots`.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.peers.webrtc.gateway import ROOT, Gateway, gateway, wait
from tests.peers.webrtc.site import Site
from tests.peers.webrtc.visitor import Chromium
from tests.support.shown_calls import CUT_AT, OTHER, RUNNING, SHOWN, write_shown

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = ROOT / "build/screenshots"
SIZES = {"desktop": (1280, 860), "tablet": (820, 1100), "phone": (390, 844)}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

PASSWORD = "a password for tests"

VIEWS = {
    "list": "/calls",
    "search": "/calls?words=service",
    "call": f"/calls?call={SHOWN}",
    "running": f"/calls?call={RUNNING}",
    "compare": f"/calls?call={SHOWN}&with={OTHER}",
    "day": "/calls?day",
    "week": "/calls?day&hours=168",
}

needs_axe = pytest.mark.skipif(
    importlib.util.find_spec("axe_playwright_python") is None,
    reason="not installed: axe-playwright-python (pip install axe-playwright-python)",
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Serve a gateway whose log tells of many calls, to people who log in."""
    from gateway.doors.passwords import hashed

    folder = tmp_path_factory.mktemp("archive")
    write_shown(folder / "logs/calls.jsonl", folder / "recordings", time.time())
    people = "".join(
        f'[web.users.{name}]\nrole = "{role}"\npassword = "{hashed(PASSWORD)}"\n'
        for name, role in (("sue", "sees"), ("ada", "acts"))
    )
    recorded = "[recording]\nenabled = true\n"
    with gateway(folder, f"{people}{recorded}") as one:
        yield one


@pytest.fixture
def page(browser: Chromium, archive: Gateway) -> Iterator[Page]:
    """Yield a page of the owner's, that complains of nothing."""
    wrong: list[str] = []
    with browser.visit(archive.url, microphone=False) as guest:
        page = guest.page
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(archive.link.replace("/#", "/calls#"))
        page.wait_for_selector(".rows a")
        yield page
    assert wrong == []


def until(page: Page, script: str, seconds: float = 20.0) -> None:
    """Wait until something holds in the page, whose policy evaluates no text by itself."""
    wait(lambda: page.evaluate(script), seconds, f"never: {script}")


def row(page: Page, call: str) -> Any:
    return page.locator(f'.rows a[href="/calls?call={call}"]')


def test_a_call_is_found_by_a_word_played_from_a_cut_in_compared_and_taken_along(
    page: Page, archive: Gateway, tmp_path: Path
) -> None:
    assert "owner" not in page.url
    page.get_by_label("Words that were said").fill("yesterday slo")
    until(page, "document.querySelectorAll('.rows a').length === 1")
    assert page.locator("mark").all_inner_texts()[-2:] == ["yesterday", "slot"]
    row(page, SHOWN).click()
    page.wait_for_selector(".talk .cut")
    cut = page.locator(".talk .cut")
    assert cut.locator("del").inner_text().endswith("it comes to about four hundred.")
    assert "brake pads" in cut.locator("del").inner_text()
    assert cut.locator("del").evaluate("one => getComputedStyle(one).textDecorationLine") == (
        "line-through"
    )
    page.get_by_role("button", name="Next cut-in").click()
    lanes = page.get_by_role("slider", name="Place in the call")
    assert int(lanes.get_attribute("aria-valuenow") or 0) == round(CUT_AT - 2)
    page.get_by_role("button", name="Play").click()
    until(
        page,
        f"document.querySelector('.talk .turn.now .words')?.textContent.startsWith('No wait')"
        f" && Number(document.querySelector('.lanes').ariaValueNow) >= {int(CUT_AT)}",
    )
    page.get_by_role("button", name="Pause").click()
    page.locator(".agent .at").nth(1).click()
    assert lanes.get_attribute("aria-valuetext") == "0:08"
    assert page.url.endswith("#t=8.84")
    for name, holds in {
        "Audacity labels": "22.600000\t22.600000\tcut-in",
        "vCon": '"type":"recording"',
        "JSON, every line": '"event":"call_ended"',
        "Stereo WAV": "RIFF",
    }.items():
        if not page.get_by_role("link", name=name).is_visible():
            page.locator("summary", has_text="Export").click()
        with page.expect_download() as started:
            page.get_by_role("link", name=name).click()
        file = tmp_path / started.value.suggested_filename
        started.value.save_as(file)
        assert holds.encode() in file.read_bytes(), name
    assert json.loads((tmp_path / f"{SHOWN}.vcon.json").read_bytes())["vcon"]
    page.get_by_role("link", name="Compare").click()
    page.wait_for_selector(".rows a")
    page.locator(f'.rows a[href$="with={OTHER}"]').click()
    page.wait_for_selector(".figures")
    assert page.locator(".figures tr", has_text="Median response").locator("td").count() == 2
    assert page.locator(".lanes canvas").count() == 2
    page.go_back()
    page.wait_for_selector(".rows a")


@pytest.mark.wide
def test_a_link_to_a_moment_opens_there_and_keys_are_enough(page: Page, archive: Gateway) -> None:
    page.goto(f"{archive.url}/calls?call={SHOWN}#t=25.18")
    until(page, "document.querySelector('.lanes')?.ariaValueText === '0:25'")
    page.locator(".lanes").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".lanes").get_attribute("aria-valuetext") == "0:27"
    page.keyboard.press("Home")
    page.keyboard.press("c")
    assert page.locator(".lanes").get_attribute("aria-valuetext") == "0:20"
    page.keyboard.press("Space")
    page.wait_for_selector(".play.playing")
    page.keyboard.press("Space")
    page.wait_for_selector(".play:not(.playing)")
    page.keyboard.press("Escape")
    page.wait_for_selector(".rows a")
    page.keyboard.press("/")
    page.keyboard.type("gearbox")
    page.wait_for_selector("mark")
    page.keyboard.press("Tab")
    page.locator("main").focus()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".talk")


@pytest.mark.wide
def test_people_log_in_see_or_act_and_leave(browser: Chromium, archive: Gateway) -> None:
    with browser.visit(archive.url, microphone=False) as guest:
        page = guest.page
        page.goto(f"{archive.url}/calls")
        page.get_by_label("Name").fill("sue")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector("text=Name or password is wrong.")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        row(page, RUNNING).click()
        page.wait_for_selector(".talk .turn")
        assert page.get_by_role("button", name="Hang up").count() == 0
        assert page.evaluate("document.cookie") == ""  # no script reads it
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("button", name="Hang up").wait_for()
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Name").wait_for()


@pytest.mark.wide
def test_a_call_appears_as_it_happens_and_is_listened_to_and_hung_up(
    page: Page, browser: Chromium, archive: Gateway, home: Site
) -> None:
    before = set(archive.calls())
    with browser.visit(archive.url) as caller:
        caller.page.goto(archive.link)
        caller.page.get_by_role("button", name="Start call").click()
        wait(lambda: set(archive.calls()) - before, 30, "no call came")
        (name,) = set(archive.calls()) - before
        row(page, name).click(timeout=10_000)
        page.locator(".talk .agent").first.wait_for(timeout=20_000)
        page.get_by_role("button", name="Listen").click()
        with page.expect_response(
            lambda one: "/calls/sound" in one.url and one.status == 206, timeout=15_000
        ):
            pass
        page.get_by_role("button", name="Stop listening").click()
        page.get_by_role("button", name="Hang up").click()
        with page.expect_response("**/calls/act*") as acted:
            page.get_by_role("dialog").get_by_role("button", name="Hang up").click()
        assert acted.value.status == 200, acted.value.text()
        ended = archive.wait_for("call_ended", name)
        assert ended.fields["reason"] == "hung up by owner"
        page.wait_for_selector("text=ended by agent", timeout=15_000)


@needs_axe
@pytest.mark.wide
@pytest.mark.parametrize("theme", THEMES)
def test_each_view_is_pictured_and_everybody_can_use_it(
    page: Page, archive: Gateway, theme: Literal["light", "dark"]
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    PICTURES.mkdir(parents=True, exist_ok=True)
    page.emulate_media(color_scheme=theme)
    wrong: list[str] = []
    for view, path in VIEWS.items():
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.goto(f"{archive.url}{path}")
            page.wait_for_selector(".rows a, .lanes, .tiles")
            page.evaluate("new Promise((done) => setTimeout(done, 300))")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (view, size)
            picture = PICTURES / f"browser-{view}-{size}-{theme}.png"
            page.screenshot(path=picture, animations="disabled")
        for one in Axe().run(page).response["violations"]:
            where = [node["target"] for node in one["nodes"]]
            wrong.append(f"{view}, {theme}: {one['id']}: {one['help']}: {where}")
    assert wrong == []
