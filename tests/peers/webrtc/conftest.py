"""What the tests with a real browser share: the browser's driver and one gateway."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.peers.webrtc.gateway import CLEAN_SECONDS, Gateway, gateway, wait
from tests.support.peers import package_of

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

HERE = Path(__file__).parent


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
            item.add_marker(pytest.mark.timeout(240))
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))


@pytest.fixture(scope="session")
def driver() -> Iterator[Playwright]:
    """Drive browsers."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Serve one gateway for most tests; any page of this machine may call with a token."""
    folder = tmp_path_factory.mktemp("gateway")
    with gateway(
        folder, '[webrtc]\norigins = ["*"]\nlocal = false\n[web]\ncalls = "open"\n'
    ) as one:
        yield one


@pytest.fixture
def served(shared: Gateway) -> Iterator[Gateway]:
    """Give the shared gateway, and see that every test leaves it clean in time."""
    yield shared
    wait(shared.is_clean, CLEAN_SECONDS, "a call was left behind")
