"""What a page does for the agent: asked for, answered, and left."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from gateway.lines.webrtc import channel
from gateway.lines.webrtc.functions import MOST, PageFunctions
from gateway.ports import PageFailed


class Page:
    """A page at the other end of the channel."""

    def __init__(self) -> None:
        self.asked: list[dict[str, object]] = []
        self.open = True
        self.functions = PageFunctions(self._take)

    def _take(self, text: str) -> bool:
        self.asked.append(msgspec.json.decode(text))
        return self.open

    def answer(self, text: str) -> None:
        told = channel.decode(text)
        assert isinstance(told, channel.Used)
        self.functions.used(told)


async def failure(page: Page) -> Exception | None:
    """Use a function; give what went wrong."""
    try:
        await page.functions.use("add", {})
    except (PageFailed, OSError) as error:
        return error
    return None


async def test_a_use_is_asked_and_its_answer_comes_back_in_any_order():
    page = Page()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(page.functions.use("add", {"count": 2}))
        second = group.create_task(page.functions.use("show", {}))
        await asyncio.sleep(0)
        assert page.asked[0] == {
            "type": "use", "v": 1, "id": "1", "name": "add", "arguments": {"count": 2},
        }  # fmt: skip
        page.answer('{"v":1,"type":"used","id":"2","result":null}')
        page.answer('{"v":1,"type":"used","id":"1","result":{"basket":2}}')
    assert (first.result(), second.result()) == ({"basket": 2}, None)


async def test_what_the_page_could_not_do_is_said_in_its_words():
    page = Page()
    async with asyncio.TaskGroup() as group:
        use = group.create_task(failure(page))
        await asyncio.sleep(0)
        page.answer('{"v":1,"type":"used","id":"7","result":1}')  # that nobody asked for
        page.answer('{"v":1,"type":"used","id":"1","error":"sold out"}')
        page.answer('{"v":1,"type":"used","id":"1","result":1}')  # twice
    assert isinstance(use.result(), PageFailed)
    assert str(use.result()) == "sold out"


async def test_a_page_that_leaves_or_never_answers_keeps_nobody():
    page = Page()
    async with asyncio.TaskGroup() as group:
        uses = [group.create_task(failure(page)) for _ in range(MOST)]
        await asyncio.sleep(0)
        with pytest.raises(PageFailed, match="does not answer"):
            await page.functions.use("add", {})
        uses[0].cancel()
        page.functions.gone()
    assert all(isinstance(use.result(), ConnectionError) for use in uses[1:])
    with pytest.raises(ConnectionError):
        await page.functions.use("add", {})


async def test_a_channel_that_is_closed_is_no_page():
    page = Page()
    page.open = False
    with pytest.raises(ConnectionError):
        await page.functions.use("add", {})
