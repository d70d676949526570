"""Tools of the page: where there is one, where there is none, and once for a key."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from gateway.events import CallInfo, Json
from gateway.ports import Page, PageFailed, ToolSpec
from gateway.tools.context import ToolContext, ToolFailed, Uncertain
from gateway.tools.page import PageTool
from gateway.tools.store import Store


class Basket:
    """A page that counts; or breaks, with what it is given."""

    def __init__(self, error: Exception | None = None) -> None:
        self.used: list[tuple[str, Json]] = []
        self._error = error

    async def use(self, name: str, arguments: Json) -> Any:
        self.used.append((name, arguments))
        if self._error is not None:
            raise self._error
        return len(self.used)


def made(effect: Literal["read", "write"] = "write") -> PageTool:
    return PageTool(ToolSpec("add", "Add it.", {"type": "object"}, effect))


def context(page: Page | None) -> ToolContext:
    now = datetime(2025, 12, 2, tzinfo=UTC)
    return ToolContext(CallInfo("c1", "webrtc", "a"), now, page=page, key="k")


@pytest.mark.real_time
async def test_a_write_is_done_once_for_its_key(tmp_path: Path):
    page, store = Basket(), Store(tmp_path / "s.sqlite")
    assert await made().run({"what": "bell"}, context(page), store) == {"result": 1}
    again = await made().run({"what": "bell"}, context(page), store)
    assert again == {"result": 1, "repeated": True}
    assert page.used == [("add", {"what": "bell"})]


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("page", "effect", "error", "code"),
    [
        (None, "write", ToolFailed, "no_page"),
        (Basket(PageFailed("sold out")), "write", ToolFailed, "failed"),
        (Basket(ConnectionError()), "write", Uncertain, "uncertain"),
        (Basket(ConnectionError()), "read", ToolFailed, "no_page"),
    ],
    ids=["no page", "refused", "left in a write", "left in a read"],
)
async def test_what_went_wrong_is_told(tmp_path: Path, page, effect, error, code):
    store = Store(tmp_path / "s.sqlite")
    with pytest.raises(error) as failed:
        await made(effect).run({}, context(page), store)
    assert failed.value.code == code
    assert bool(store.open_deeds()) == (code == "uncertain")
