"""A loop that stands still is noticed, with how long and in whose code."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.log_events import LogEvent, LoopStoodLogged
from gateway.process.watchdog import BEAT_SECONDS, STOOD_SECONDS, Watchdog

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.real_time


class Story:
    """Keeps what was told."""

    def __init__(self) -> None:
        self.told: list[LogEvent] = []
        self.came = threading.Event()

    def write(self, event: LogEvent) -> None:
        self.told.append(event)
        self.came.set()


def block_here(until: threading.Event) -> None:
    until.wait(30)


async def test_code_that_blocks_the_loop_is_named() -> None:
    story, go = Story(), threading.Event()
    watchdog = Watchdog(story)
    with capture_logs() as lines:
        watchdog.start()
        threading.Timer(3 * STOOD_SECONDS, go.set).start()
        block_here(go)
        await asyncio.to_thread(story.came.wait, 30)
        watchdog.stop()
    (told,) = story.told
    assert isinstance(told, LoopStoodLogged)
    assert told.kind == "blocked"
    assert told.seconds >= STOOD_SECONDS
    stack = told.stacks[threading.current_thread().name]
    assert any("block_here" in line for line in stack)
    assert [line["event"] for line in lines] == ["loop_stood"]
    figures = watchdog.figures()
    assert figures["stood"] == 1
    assert figures["last"]["stacks"] == told.stacks  # type: ignore[index]


async def test_a_loop_that_goes_round_is_let_alone() -> None:
    story = Story()
    watchdog = Watchdog(story)
    watchdog.start()
    await asyncio.sleep(3 * BEAT_SECONDS)
    watchdog.stop()
    blamed = [each for each in story.told if isinstance(each, LoopStoodLogged)]
    assert [each for each in blamed if each.kind == "blocked"] == []


PROGRAM = """
import asyncio, re, sys, threading, time
from gateway.process.watchdog import Watchdog
from gateway.tools.threads import in_thread

class Story:
    def write(self, event):
        print(event.kind, "tool greedy" in event.stacks)
        print(flush=True)

def greedy():
    re.match(r"(a+)+$", "a" * int(sys.argv[2]) + "b")

async def main():
    watchdog = Watchdog(Story())
    watchdog.start()
    print("ready", flush=True)
    if sys.argv[1] == "regex":
        await in_thread(greedy)
    await asyncio.to_thread(sys.stdin.readline)
    await asyncio.sleep(0.5)
    watchdog.stop()

asyncio.run(main())
"""


def test_code_that_keeps_the_interpreter_is_named_in_whichever_thread() -> None:
    # 25 letters: some two seconds.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "regex", "25"],
        capture_output=True,
        cwd=ROOT,
        input=b"\n",
        check=True,
    )
    assert b"interpreter True" in done.stdout.splitlines()


def test_a_process_that_was_stopped_is_told_as_that() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "none", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(4 * STOOD_SECONDS)
        process.send_signal(signal.SIGCONT)
        assert b"stopped False\n" in iter(process.stdout.readline, b"")
        process.communicate(b"\n", 30)
