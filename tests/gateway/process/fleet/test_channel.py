"""Messages and open files between a supervisor and a process, over real sockets."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from gateway.process.fleet.channel import LARGEST, WAITING_MOST, Channel, pair

pytestmark = pytest.mark.real_time


class End:
    """One end, and what it was told."""

    def __init__(self, end: object) -> None:
        self.messages: list[bytes] = []
        self.files: list[int] = []
        self.came = asyncio.Event()
        self.closed = asyncio.Event()
        self.channel = Channel(end, self._received, self.closed.set)  # type: ignore[arg-type]

    def _received(self, message: bytes, files: list[int]) -> None:
        self.messages.append(message)
        self.files += files
        self.came.set()

    async def has(self, count: int) -> None:
        while len(self.messages) < count:
            self.came.clear()
            await self.came.wait()


async def test_a_file_comes_along_with_its_message(tmp_path: Path) -> None:
    ours, theirs = map(End, pair())
    path = tmp_path / "opened"
    path.write_text("what is in it")
    with path.open() as file:
        assert ours.channel.send(b"take this", [file.fileno()])
    await theirs.has(1)
    assert theirs.messages == [b"take this"]
    with os.fdopen(theirs.files[0]) as taken:
        assert taken.read() == "what is in it"
    ours.channel.close()
    await theirs.closed.wait()


async def test_what_finds_no_room_waits_in_order_up_to_a_bound() -> None:
    ours, theirs = pair()
    sender = End(ours)
    sent = [number for number in range(WAITING_MOST + 500) if sender.channel.send(_large(number))]
    assert sent == list(range(len(sent)))  # none is passed over for a later one
    assert WAITING_MOST <= len(sent) < WAITING_MOST + 500
    reader = End(theirs)
    await reader.has(len(sent))
    assert reader.messages == [_large(number) for number in sent]
    assert sender.channel.send(b"again")
    await reader.has(len(sent) + 1)
    for end in (sender, reader):
        end.channel.close()


async def test_what_is_too_large_is_refused_and_nothing_is_sent_to_nobody() -> None:
    ours, theirs = map(End, pair())
    assert not ours.channel.send(b"x" * (LARGEST + 1))
    theirs.channel.close()
    await ours.closed.wait()
    assert not ours.channel.send(b"too late")


def _large(number: int) -> bytes:
    return str(number).encode() + b"." * 2000
