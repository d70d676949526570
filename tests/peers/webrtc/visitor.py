"""A visitor with a real browser, whose microphone is a file of real speech."""

from __future__ import annotations

import base64
import shutil
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
    from playwright.sync_api import Page, Playwright

SPEECH = Path(__file__).parents[2] / "data/speech"
RATE = 48000
"""Of Chromium's fake microphone, and of what it records."""

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
)
"""A browser for tests: nothing is asked of the network by itself."""

EARS = (Path(__file__).parent / "ears.js").read_text()
"""Put into each page: keeps the microphone, the widget's events, and on demand both voices."""


def speech(path: Path, *parts: str | float) -> Path:
    """Write a microphone's file: recordings by name, silences by seconds."""
    pieces = [
        np.zeros(round(part * RATE), np.int16)
        if isinstance(part, float | int)
        else np.frombuffer(load(SPEECH / part, RATE).pcm, "<i2")
        for part in parts
    ]
    soundfile.write(path, np.concatenate(pieces), RATE)
    return path


@dataclass
class Visitor:
    """One page in one browser."""

    page: Page

    def press(self, text: str) -> None:
        """Press a button of the widget by its words."""
        self.page.locator("parley-widget").get_by_role("button", name=text, exact=True).click()

    def events(self, name: str) -> list[dict[str, Any]]:
        """Give what the widget told the page."""
        told: list[dict[str, Any]] = self.page.evaluate("told")
        return [one for one in told if one["name"] == name]

    def wait_for(self, script: str, seconds: float = 30.0) -> None:
        """Wait until something holds in the page, whatever its policy allows to be evaluated."""
        wait(lambda: self.page.evaluate(script), seconds, f"{script}: {self.events('state')}")

    def connected(self) -> None:
        """Wait until the call is up."""
        self.wait_for("document.querySelector('parley-widget').phase === 'connected'")

    def saying(self) -> str:
        """Give what is written in the widget."""
        text: str = self.page.evaluate(
            "document.querySelector('parley-widget').shadowRoot.textContent"
        )
        return " ".join(text.split())

    def captions(self, who: str) -> list[str]:
        """Give the final captions of one side."""
        final: dict[int, str] = {}
        for one in self.events("caption"):
            if one["who"] == who and one["final"]:
                final[one["id"]] = one["text"]
        return list(final.values())

    def failure(self, seconds: float = 30.0) -> dict[str, Any]:
        """Wait for the call to fail, and say how."""
        wait(lambda: self.events("error"), seconds, f"no failure; {self.page.evaluate('told')}")
        return self.events("error")[-1]

    def record(self) -> None:
        """Keep both voices from now on, as the page has them."""
        self.page.evaluate("record()")

    def recorded(self) -> tuple[bytes, bytes]:
        """Give the visitor's and the agent's voice, at 48 kHz, from the same moment on."""
        raw = np.frombuffer(base64.b64decode(self.page.evaluate("recorded()")), "<i2")
        return raw[0::2].tobytes(), raw[1::2].tobytes()


@contextmanager
def visitor(
    playwright: Playwright,
    url: str,
    microphone: Path | None = None,
    *,
    permission: str = "",
    flags: Sequence[str] = (),
    program: str = "",
    **context: Any,
) -> Iterator[Visitor]:
    """Open a page; `permission` is what is said when the microphone is asked for (`deny`)."""
    asked = "--use-fake-ui-for-media-stream" + (f"={permission}" if permission else "")
    heard = [f"--use-file-for-fake-audio-capture={microphone}%noloop"] if microphone else []
    browser = playwright.chromium.launch(
        executable_path=program or shutil.which("chromium"),
        args=[*FLAGS, asked, *heard, *flags],
    )
    try:
        page = browser.new_context(**context).new_page()
        page.add_init_script(EARS)
        page.goto(url)
        guest = Visitor(page)
        guest.wait_for("!!customElements.get('parley-widget')")
        yield guest
    finally:
        browser.close()
