"""The journal: what a line holds, what happens when the disk or the queue cannot keep up."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gateway.log_events import (
    CallerSpokeLogged,
    DraftLogged,
    FaultLogged,
    KeyLogged,
    TransferLogged,
    UsageLogged,
)
from gateway.observe.cutting import LONGEST_LINE, LONGEST_TEXT, MOST_PARTS
from gateway.observe.journal import Journal, timestamp
from gateway.observe.settings import LogSettings

KEY = KeyLogged(keys="1")


class Memory:
    """A sink in memory that can be made to wait or to fail."""

    def __init__(self) -> None:
        self.lines: list[dict[str, object]] = []
        self.open = threading.Event()
        self.open.set()
        self.stuck = threading.Event()
        self.failures = 0

    def write(self, lines: bytes) -> int:
        if not self.open.is_set():
            self.stuck.set()
            self.open.wait(10)
        if self.failures:
            self.failures -= 1
            raise OSError("the disk is full")
        self.lines += [msgspec.json.decode(line) for line in lines.splitlines()]
        return len(lines)

    def close(self) -> None:
        pass


@pytest.fixture
def memory() -> Iterator[Memory]:
    sink = Memory()
    yield sink
    sink.open.set()


def journal(sink: Memory, bound: int = 100) -> Journal:
    clock = iter(range(1000, 2000))
    return Journal(
        LogSettings(),
        clock=lambda: float(next(clock)),
        wall=lambda: 1772460131.5,
        sink=sink,
        bound=bound,
    )


def test_a_line_says_when_whose_and_what(memory: Memory) -> None:
    with journal(memory) as log:
        call = log.bind("CA1", answered=990.0)
        call.write(TransferLogged(accepted=True, reason=""))
        call.write(DraftLogged(outcome="started", reply=1, probability=0.123456), now=1005.25)
    assert memory.lines == [
        {
            "ts": "2026-03-02T14:02:11.500Z",
            "call": "CA1",
            "at": 11.0,
            "event": "transfer",
            "accepted": True,
            "reason": "",
        },
        {
            "ts": "2026-03-02T14:02:11.500Z",
            "call": "CA1",
            "at": 15.25,
            "event": "draft",
            "outcome": "started",
            "reply": 1,
            "probability": 0.1235,
        },
    ]


def test_no_field_takes_the_place_of_the_head(memory: Memory) -> None:
    with journal(memory) as log:
        figures = {"call": "x", "ts": 0, "event": "y", "at": 9}
        log.bind("CA1", 1000.0).write(UsageLogged(figures=figures))
    (line,) = memory.lines
    assert (line["call"], line["event"], line["at"]) == ("CA1", "usage", 1.0)
    assert list(line) == ["ts", "call", "at", "event"]


def test_what_json_does_not_know_is_written_all_the_same(memory: Memory) -> None:
    with journal(memory) as log:
        fields = {"level": np.float32(0.5), "path": Path("a/b"), "gone": float("nan")}
        log.bind("CA1", 0.0).write(UsageLogged(figures=fields))
    (line,) = memory.lines
    assert (line["level"], line["path"], line["gone"]) == (0.5, "a/b", None)


def test_a_line_has_a_limit_and_says_what_it_cut(memory: Memory) -> None:
    secret = "sk-" + "a" * 40
    with journal(memory) as log:
        call = log.bind("c1", 0.0)
        call.write(CallerSpokeLogged(turn=1, text="word " * 10_000_000))
        call.write(FaultLogged(part="model", reason="x " * 7_998 + secret))
        call.write(UsageLogged(figures={f"n{number}": number for number in range(5000)}))
        call.write(UsageLogged(figures={"tree": {"deep": ["y" * 5_000] * 100}, "total": 7}))
    spoke, fault, wide, deep = memory.lines
    assert len(str(spoke["text"])) < LONGEST_TEXT + 100
    assert str(spoke["text"]).endswith(" characters more]")
    assert spoke["cut"] == ["text"]
    assert "sk-" not in str(fault["reason"])
    assert len(wide) == MOST_PARTS + len(("ts", "call", "at", "event", "cut"))
    assert wide["cut"] == ["fields"]
    assert len(msgspec.json.encode(deep)) < 2 * LONGEST_LINE
    assert deep["cut"] == ["tree"]
    assert deep["total"] == 7


def test_lines_of_the_process_belong_to_no_call(memory: Memory) -> None:
    with journal(memory) as log:
        log.process.write(FaultLogged(part="gateway", reason="odd"))
    assert memory.lines[0]["call"] == ""


def test_a_full_queue_drops_and_says_how_many(memory: Memory) -> None:
    memory.open.clear()
    with journal(memory, bound=5) as log:
        call = log.bind("CA1", 0.0)
        call.write(KEY)
        assert memory.stuck.wait(10)
        for number in range(8):
            call.write(UsageLogged(figures={"number": number}))
        assert log.dropped == 3
        memory.open.set()
    events = [line["event"] for line in memory.lines]
    assert events == ["key", *["usage"] * 5, "log_dropped"]
    assert memory.lines[-1]["lines"] == 3


def test_what_a_failing_disk_refused_is_written_when_it_can_be(
    memory: Memory, capfd: pytest.CaptureFixture[str]
) -> None:
    memory.failures = 1
    memory.open.clear()
    with journal(memory) as log:
        log.bind("CA1", 0.0).write(KEY)
        assert memory.stuck.wait(10)
        memory.open.set()
        log.bind("CA1", 0.0).write(KEY)
    assert [line["event"] for line in memory.lines] == ["key", "key", "fault", "recovered"]
    assert [line["call"] for line in memory.lines] == ["CA1", "CA1.2", "", ""]
    fault = memory.lines[2]
    assert (fault["part"], fault["reason"]) == ("log", "the disk is full")
    assert capfd.readouterr().err == (
        "parley: the call log cannot be written: the disk is full; lines are kept and tried again\n"
        "parley: the call log is written again\n"
    )


def test_what_comes_after_the_end_is_counted_not_raised(memory: Memory) -> None:
    log = journal(memory)
    log.close()
    log.bind("CA1", 0.0).write(KEY)
    log.close()
    assert (memory.lines, log.dropped) == ([], 1)


def test_the_setting_masks(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "calls.jsonl"
    with Journal(LogSettings(str(path), mask="full"), secrets=["correct horse battery"]) as log:
        call = log.bind("CA1", 0.0)
        call.write(CallerSpokeLogged(turn=1, text="hello there"))
        call.write(FaultLogged(part="voice", reason="correct horse battery"))
    spoke, fault = map(msgspec.json.decode, path.read_bytes().splitlines())
    assert (spoke["text"], fault["reason"]) == ("[2 words]", "[secret]")


def test_a_killed_process_leaves_what_it_wrote(tmp_path: Path) -> None:
    """Once a reader sees the last line, killing the writer takes nothing back."""
    program = (
        "import sys, threading\n"
        "from gateway.observe.settings import LogSettings\n"
        "from gateway.log_events import UsageLogged\n"
        "from gateway.observe.journal import Journal\n"
        "log = Journal(LogSettings('-'))\n"
        "call = log.bind('CA1', 0.0)\n"
        "for number in range(100): call.write(UsageLogged(figures={'number': number}))\n"
        "threading.Event().wait(60)\n"
    )
    path = tmp_path / "out"
    with path.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path.cwd()
        )
        assert process.stdout is not None
        for _ in range(100):
            out.write(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        out.write(process.stdout.read())
        process.stdout.close()
        process.wait()
    lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert [line["number"] for line in lines] == list(range(100))


def test_times_are_written_to_the_millisecond_in_utc() -> None:
    assert timestamp(0.0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(1772460131.9996) == "2026-03-02T14:02:12.000Z"
