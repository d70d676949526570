"""What the tests with a real browser share: the browser, one gateway, and sites that embed it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.peers.webrtc.gateway import CLEAN_SECONDS, Gateway, gateway, wait
from tests.peers.webrtc.site import Site, site
from tests.peers.webrtc.visitor import Chromium, chromium
from tests.support.peers import package_of

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

HERE = Path(__file__).parent

SETTINGS = """
[limits]
calls = 1
[webrtc]
origins = ["{origin}"]
[web]
calls = "open"
"""
"""One call at once, for pages of one site that show a token."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all of this folder, and skip it by name where something is missing."""
    missing = [
        said
        for there, said in (
            (shutil.which("chromium"), f"chromium (apt-get install {package_of('chromium')})"),
            (importlib.util.find_spec("playwright"), "playwright (pip install playwright)"),
        )
        if not there
    ]
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.peer)
            item.add_marker(pytest.mark.timeout(150))
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))


@pytest.fixture(scope="session")
def driver() -> Iterator[Playwright]:
    """Drive browsers."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(driver: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Run one browser for most tests."""
    with chromium(driver, tmp_path_factory.mktemp("browser")) as one:
        yield one


@pytest.fixture(scope="session")
def shop() -> Iterator[Site]:
    """Serve the site that may call the shared gateway."""
    with site() as one:
        yield one


@pytest.fixture(scope="session")
def shared(shop: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Serve one gateway for most tests."""
    settings = SETTINGS.format(origin=shop.url)
    with gateway(tmp_path_factory.mktemp("gateway"), settings) as one:
        shop.gateway = one.url
        yield one


@pytest.fixture
def served(shared: Gateway) -> Iterator[Gateway]:
    """Return the shared gateway, and see that every test leaves it clean in time."""
    yield shared
    wait(shared.is_clean, CLEAN_SECONDS, "something of a call was left behind")


@pytest.fixture
def home(shop: Site, served: Gateway) -> Site:
    """Return the site that may call the shared gateway, as it is at first."""
    shop.forget()
    return shop
