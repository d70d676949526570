"""The network shell's one timer, on the loop that the gateway runs on."""

from __future__ import annotations

import asyncio

import pytest

from tests.gateway.lines.sip.test_line import end, run


class Due:
    """A core that waits for something that is past."""

    def __init__(self, now: float) -> None:
        self.deadline: float | None = now - 1
        self.looked = 0

    def tick(self, now: float) -> list[object]:
        self.looked += 1
        self.deadline = None
        return []


def test_what_is_due_already_is_looked_at_once_and_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        async with end() as near:
            due = Due(asyncio.get_running_loop().time())
            with monkeypatch.context() as patched:
                patched.setattr(near.line.network, "core", due)
                near.line.network.perform([])
                near.line.network.perform([])
                await asyncio.sleep(0.01)
            assert due.looked == 1

    run(work)
