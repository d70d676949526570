"""Agents are read off the loop, however long that takes, and calls are answered meanwhile."""

from __future__ import annotations

import asyncio
import builtins
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.agents.library import AgentLibrary
from gateway.agents.loading import Agent
from gateway.plumbing.virtual_time import run
from gateway.process.reading import LOOK_SECONDS, READ_SECONDS, Reading

pytestmark = pytest.mark.live
"""Real threads hang in here, and what they hold up is seen in real time."""

TOOLS = '[[tools]]\npython = "tools.py:f"\n'
GOOD = "def f() -> str:\n    return 'x'\n"
HANGS = "import builtins\nbuiltins.hanging()\n" + GOOD


class Hanging:
    """What an import hangs in, until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Event()
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        self.begun.set()
        self.go.wait(30)


def readers(before: set[threading.Thread]) -> list[threading.Thread]:
    """Return the threads that read agents; other tests' tools may have left theirs."""
    return [
        each
        for each in threading.enumerate()
        if each.name.startswith("tool") and each not in before
    ]


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    made, before = Hanging(), set(threading.enumerate())
    monkeypatch.setattr(builtins, "hanging", made, raising=False)
    yield made
    made.go.set()
    for thread in readers(before):
        thread.join(10)


def told(folder: Path, story: Callable[[Reading], Coroutine[Any, Any, None]]) -> list[str]:
    """Tell a story to a reading; give the names it reads, with a minus where one is gone."""
    read: list[str] = []
    before = set(threading.enumerate())

    def take(name: str, agent: Agent | None) -> None:
        read.append(name if agent is not None else f"-{name}")

    hangs: Hanging | None = getattr(builtins, "hanging", None)

    def busy() -> bool:
        hung = hangs is not None and hangs.begun.is_set() and not hangs.go.is_set()
        return len(readers(before)) > hung

    async def main() -> None:
        reading = Reading(AgentLibrary(folder), take, asyncio.Event())
        async with asyncio.TaskGroup() as group:
            await reading.look()
            running = group.create_task(reading.run())
            await story(reading)
            running.cancel()

    run(main(), [busy])
    return read


def test_what_changes_is_read_within_a_look_and_what_goes_is_told(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text("")

    async def story(reading: Reading) -> None:
        (tmp_path / "two.toml").write_text("")
        await asyncio.sleep(LOOK_SECONDS + 0.1)
        (tmp_path / "one.toml").unlink()
        (tmp_path / "two.toml").write_text("language = 3")
        reading._wanted.set()
        await asyncio.sleep(0.1)

    with capture_logs() as lines:
        assert told(tmp_path, story) == ["one", "two", "-one", "two"]
    assert not [line for line in lines if line["event"] == "agents_not_looked_at"]


def test_an_import_that_hangs_holds_up_nobody_and_is_told(tmp_path: Path, hanging: Hanging) -> None:
    (tmp_path / "desk.toml").write_text(TOOLS)
    (tmp_path / "tools.py").write_text(GOOD)

    async def story(reading: Reading) -> None:
        (tmp_path / "tools.py").write_text(HANGS)
        (tmp_path / "other.toml").write_text("")
        await asyncio.sleep(READ_SECONDS + 5)

    with capture_logs() as lines:
        assert told(tmp_path, story) == ["desk", "other"]
    assert hanging.times == 1
    (line,) = [line for line in lines if line["event"] == "agent_not_read"]
    assert (line["agent"], line["log_level"]) == ("desk", "error")


def test_an_agent_that_hangs_at_the_start_lets_the_others_answer(
    tmp_path: Path, hanging: Hanging
) -> None:
    (tmp_path / "desk.toml").write_text(TOOLS)
    (tmp_path / "tools.py").write_text(HANGS)
    (tmp_path / "other.toml").write_text("")

    async def story(reading: Reading) -> None:
        await asyncio.sleep(5 * LOOK_SECONDS)

    with capture_logs():
        assert told(tmp_path, story) == ["other"]
    assert hanging.times == 1
