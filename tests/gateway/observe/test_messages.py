"""Whoever says something on standard error never waits for whoever reads it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.observe.messages import LONGEST, Messages, queued_stderr
from gateway.observe.often import BURST, RATE, Often

ROOT = Path(__file__).parents[3]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    out, into = os.pipe()
    yield out, into
    os.close(out)
    os.close(into)


def read(out: int) -> list[str]:
    """Read what is there until nothing more comes."""
    data = b""
    while select.select([out], [], [], 0.3)[0]:
        data += os.read(out, 65536)
    return data.decode().splitlines()


def test_what_is_said_comes_out_in_order(pipe: tuple[int, int]) -> None:
    messages = Messages(pipe[1])
    for number in range(100):
        print(number, file=messages)
    messages.finish()
    assert read(pipe[0]) == [str(number) for number in range(100)]


def test_a_reader_that_stalls_stops_nobody_and_learns_how_much_it_missed(
    pipe: tuple[int, int],
) -> None:
    messages = Messages(pipe[1], most=100_000)
    line = "x" * 99 + "\n"
    for _ in range(5000):  # half a megabyte, into a pipe that holds 64 KiB
        messages.write(line)
    kept = missed = 0
    with open(pipe[0], closefd=False) as reader:
        while kept + missed < 5000:
            said = reader.readline()
            if said == line:
                kept += 1
            else:
                told = json.loads(said)
                assert told["event"] == "messages_dropped"
                missed += told["lines"]
    messages.finish()
    assert kept + missed == 5000
    assert 0 < messages.dropped == missed


def test_a_reader_that_is_gone_costs_the_message_alone() -> None:
    out, into = os.pipe()
    messages = Messages(into)
    os.close(out)
    messages.write("nobody hears this\n")
    messages.finish()
    assert messages.dropped == 1
    os.close(into)


def test_the_end_does_not_wait_for_a_reader_that_stalls(pipe: tuple[int, int]) -> None:
    messages = Messages(pipe[1], most=1_000_000)
    messages.write("x\n" * 200_000)
    for _ in range(200):
        messages.write("x" * 4000 + "\n")
    done = threading.Thread(target=messages.finish, args=(0.05,))
    done.start()
    done.join(10)
    assert not done.is_alive()
    read(pipe[0])


def test_a_text_without_end_is_cut_in_its_middle(pipe: tuple[int, int]) -> None:
    messages = Messages(pipe[1])
    messages.write("a" * LONGEST + "b" * LONGEST + "\n")
    messages.finish()
    (line,) = read(pipe[0])
    assert len(line) < LONGEST + 40
    assert (line[0], line[-1]) == ("a", "b")
    assert f"[{LONGEST + 1} characters]" in line


def test_warnings_and_tracebacks_go_the_same_way(capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        "import sys, warnings, threading\n"
        "from gateway.observe.messages import queued_stderr\n"
        "with queued_stderr() as messages:\n"
        "    warnings.warn('one')\n"
        "    thread = threading.Thread(target=lambda: 1 / 0)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "    assert messages._thread.is_alive()\n"
        "print('after', file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, cwd=ROOT, check=True
    )
    said = done.stderr.decode()
    assert "UserWarning: one" in said
    assert "ZeroDivisionError" in said
    assert said.endswith("after\n")


def test_standard_error_is_what_it_was_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stderr
    with queued_stderr():
        assert sys.stderr is not before
        print("within", file=sys.stderr)
    assert sys.stderr is before
    assert capfd.readouterr().err == "within\n"


def test_a_flood_of_one_kind_is_held_back_and_counted_and_the_others_pass() -> None:
    now = 100.0
    often = Often(lambda: now)
    passed = [often.passes("flood") for _ in range(1000)]
    assert passed == [0] * BURST + [None] * (1000 - BURST)
    assert often.passes("other") == 0
    now += 1.0
    again = [often.passes("flood") for _ in range(100)]
    assert again[0] == 1000 - BURST
    assert sum(each is not None for each in again) == int(RATE)
