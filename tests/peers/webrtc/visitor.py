"""Visitors with a real browser, whose microphone is a file of real speech."""

from __future__ import annotations

import base64
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile

from gateway.caller.sound import load
from tests.peers.webrtc.gateway import wait

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Playwright

SPEECH = Path(__file__).parents[2] / "data/speech"
RATE = 48000
"""Of Chromium's fake microphone, and of what a page records."""

LEAD_SECONDS = 0.5
"""Silence of a microphone before somebody speaks into it."""

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
    "--use-fake-device-for-media-stream",
)
"""A browser for tests: nothing is asked of the network by itself."""

EARS = (Path(__file__).parent / "ears.js").read_text()

WIDGET = "document.querySelector('parley-widget')"


@dataclass
class Visitor:
    """One page in one browser."""

    page: Page
    microphone: Path
    "what the browser's microphone hears when it is opened"

    # --- what the visitor does -------------------------------------------------------------------

    def press(self, text: str) -> None:
        """Press a button of the widget by its words."""
        self.button(text).click()

    def call(self) -> None:
        """Place a call and wait until it is up."""
        self.press("Talk to us")
        self.connected()

    def say(self, name: str) -> None:
        """Speak a recording, from half a second on."""
        write(self.microphone, name)
        self.page.evaluate("speak()")

    def hang_up(self) -> None:
        """End the call and see that it ended."""
        self.press("Hang up")
        self.wait_for(f"{WIDGET}.phase === 'ended'")

    # --- what the visitor sees -------------------------------------------------------------------

    def button(self, text: str) -> Locator:
        """Find a button of the widget by its words."""
        return self.page.locator("parley-widget").get_by_role("button", name=text, exact=True)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return what the widget told the page."""
        told: list[dict[str, Any]] = self.page.evaluate("told")
        return [one for one in told if one["name"] == name]

    def wait_for(self, script: str, seconds: float = 30.0) -> None:
        """Wait until something holds in the page, whatever its policy allows to be evaluated."""
        wait(
            lambda: self.page.evaluate(script),
            seconds,
            lambda: f"not {script}: {self.events('state')}",
        )

    def connected(self) -> None:
        """Wait until the call is up."""
        self.wait_for(f"{WIDGET}.phase === 'connected'")

    def reconnecting(self) -> None:
        """Wait until the page knows that its connection broke."""
        self.wait_for(f"{WIDGET}.phase === 'reconnecting'")

    def state(self, name: str) -> None:
        """Wait until the agent does something."""
        self.wait_for(f"{WIDGET}.state === '{name}'")

    def saying(self) -> str:
        """Return what is written in the widget."""
        text: str = self.page.evaluate(f"{WIDGET}.shadowRoot.textContent")
        return " ".join(text.split())

    def captions(self, who: str) -> list[str]:
        """Return the final captions of one side."""
        final: dict[int, str] = {}
        for one in self.events("caption"):
            if one["who"] == who and one["final"]:
                final[one["id"]] = one["text"]
        return list(final.values())

    def answered(self, captions: int) -> None:
        """Wait until the agent has said so much to its end, and listens."""
        wait(
            lambda: (
                len(self.captions("agent")) >= captions
                and self.page.evaluate(f"{WIDGET}.state === 'listening'")
            ),
            40,
            lambda: f"the agent is not done: {self.page.evaluate('told')}",
        )

    def failure(self, count: int = 1) -> dict[str, Any]:
        """Wait for the call to fail, for the `count`-th time, and say how."""
        wait(
            lambda: len(self.events("error")) >= count,
            40,
            lambda: f"no failure: {self.page.evaluate('told')}",
        )
        return self.events("error")[count - 1]

    def hold(self, state: str = "") -> None:
        """Let the page stay as it is, at once or when the agent is first in a state."""
        self.page.evaluate(f"window.holdAt = '{state}'" if state else "window.held = []")
        if state:
            self.wait_for("held")

    def release(self) -> None:
        """Let the page take what it has missed."""
        self.page.evaluate("release()")

    def pass_time(self, seconds: float) -> None:
        """Let time pass in the page, where nothing is there to be waited for."""
        self.page.wait_for_timeout(1000 * seconds)

    # --- the tape --------------------------------------------------------------------------------

    def record(self) -> None:
        """Keep both voices from now on, as the page has them; before a call, to miss nothing."""
        self.page.evaluate("record()")

    def recorded(self) -> tuple[bytes, bytes]:
        """Return the visitor's and the agent's voice, at 48 kHz, from the same moment on."""
        raw = np.frombuffer(base64.b64decode(self.page.evaluate("recorded()")), "<i2")
        return raw[0::2].tobytes(), raw[1::2].tobytes()


@dataclass
class Chromium:
    """One browser; its visitors share nothing but the microphone."""

    browser: Browser
    microphone: Path

    @contextmanager
    def visit(self, url: str, *, microphone: bool = True, **context: Any) -> Iterator[Visitor]:
        """Open a page as somebody who allows the microphone, or does not."""
        write(self.microphone)
        allowed = ["microphone"] if microphone else []
        opened = self.browser.new_context(permissions=allowed, **context)
        try:
            opened.add_init_script(EARS)
            yield self.open(opened.new_page(), url)
        finally:
            opened.close()

    def crash(self) -> None:
        """Let the processes of all pages die without a word."""
        about = self.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
        for one in about["processInfo"]:
            if one["type"] == "renderer":
                os.kill(one["id"], signal.SIGKILL)

    def open(self, page: Page, url: str) -> Visitor:
        """Go to a page with a widget."""
        page.goto(url)
        guest = Visitor(page, self.microphone)
        guest.wait_for("!!customElements.get('parley-widget')")
        return guest


def write(path: Path, name: str = "") -> None:
    """Write a microphone's file: a recording after half a second, or silence alone."""
    pieces = [np.zeros(round(LEAD_SECONDS * RATE), np.int16)]
    if name:
        pieces.append(np.frombuffer(load(SPEECH / name, RATE).pcm, "<i2"))
    soundfile.write(path, np.concatenate(pieces), RATE)


@contextmanager
def chromium(
    driver: Playwright, folder: Path, *, program: str = "", flags: Sequence[str] = ()
) -> Iterator[Chromium]:
    """Run a browser; `program` starts it in another way than by its name."""
    microphone = folder / "microphone.wav"
    write(microphone)
    browser = driver.chromium.launch(
        executable_path=program or shutil.which("chromium"),
        # Behind its end, a file is silence.
        args=[*FLAGS, f"--use-file-for-fake-audio-capture={microphone}%noloop", *flags],
    )
    try:
        yield Chromium(browser, microphone)
    finally:
        browser.close()
