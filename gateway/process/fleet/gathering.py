"""The metrics of all processes, asked for together."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence

import structlog

from gateway.metrics.together import together
from gateway.process.fleet.channel import Channel
from gateway.process.fleet.messages import AskPages, GivePage, encode
from gateway.process.fleet.port import Page

PATIENCE = 2.0
"""Seconds; a scrape has ten, and a process that stands still is missing in it."""

log = structlog.get_logger("fleet")


class Gathering:
    """Asks the other processes, and answers when they ask."""

    def __init__(self, number: int, channel: Channel) -> None:
        self.own: Page | None = None
        self._number = number
        self._channel = channel
        self._asked = 0
        self._pages: dict[int, dict[int, str]] = {}
        "by what was asked, and by process"
        self._news = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None

    async def all(self, own: bytes, others: Sequence[int]) -> bytes:
        """Return the page of all, without those that do not answer in time."""
        self._asked += 1
        asked, pages = self._asked, {self._number: own.decode()}
        self._pages[asked] = pages
        self._channel.send(encode(AskPages(asked)))
        try:
            async with asyncio.timeout(PATIENCE):
                while not pages.keys() >= {*others}:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            log.warning("metrics_missing", processes=sorted({*others} - pages.keys()))
        finally:
            del self._pages[asked]
        return (await asyncio.to_thread(together, pages)).encode()

    def wanted(self, to: int, asked: int) -> None:
        """Give this process's page to another."""
        if self.own is not None and self._group is not None:
            self._group.create_task(self._give(self.own, to, asked))

    def came(self, number: int, asked: int, text: bytes) -> None:
        """Take the page of another process."""
        if asked in self._pages:
            self._pages[asked][number] = zlib.decompress(text).decode()
            self._news.set()

    def run_in(self, group: asyncio.TaskGroup | None) -> None:
        """Answer in this group of tasks from now on."""
        self._group = group

    async def _give(self, page: Page, to: int, asked: int) -> None:
        text = zlib.compress(await page(), 1)
        self._channel.send(encode(GivePage(to, asked, text)))
