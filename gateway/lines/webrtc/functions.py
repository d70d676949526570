"""What a page does for the agent: each use is asked over the data channel, and answered there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from gateway.events import Json
from gateway.lines.webrtc import channel
from gateway.ports import PageFailed

MOST = 32
"""Uses under way at once; a page that answers none is asked for no more."""


class PageFunctions:
    """A `Page`: hands on what is asked, and gives back what the page answers."""

    def __init__(self, send: Callable[[str], bool]) -> None:
        self._send = send
        self._numbers = count(1)
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._gone = False

    async def use(self, name: str, arguments: Json) -> Any:
        """Have the page do it; raises PageFailed with the page's words, or OSError when it left."""
        if self._gone:
            raise ConnectionError("the page is gone")
        if len(self._asked) >= MOST:
            raise PageFailed("the page does not answer")
        number = str(next(self._numbers))
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            use = channel.Use(id=number, name=name, arguments=dict(arguments))
            if not self._send(channel.encode(use)):
                raise ConnectionError("the page is not there")
            return await answer
        finally:
            del self._asked[number]

    def used(self, told: channel.Used) -> None:
        """Take what the page answered; what nobody waits for any more is passed over."""
        answer = self._asked.get(told.id)
        if answer is None or answer.done():
            return
        if told.result is msgspec.UNSET:
            answer.set_exception(PageFailed(told.error or "the page could not do it"))
        else:
            answer.set_result(told.result)

    def gone(self) -> None:
        """Take that the page left: whoever waits is told so."""
        self._gone = True
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the page is gone"))
