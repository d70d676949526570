"""Calls of a process that was killed: named, ended and summed up by the next one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import soundfile

from gateway.log_events import CallEndedLogged, DeedLogged
from gateway.observe.journal import Journal
from gateway.observe.lines import LogLine, parse
from gateway.observe.lost import finish
from gateway.observe.running import Running
from gateway.observe.settings import LogSettings
from media.wav_file import WavFile
from tests.support.log_lines import SAMPLES, logged

ROOT = Path(__file__).parents[3]
MOMENTS = 8
"""Kills in the tests; `make kills` tries a hundred."""


def lines(path: Path) -> list[LogLine]:
    """Read a log in which every line must be whole."""
    return [parse(raw) for raw in path.read_bytes().splitlines()]


def start(folder: Path) -> tuple[Journal, int]:
    """Begin as a process does; give its journal and how many calls it finished."""
    running = Running(folder / "running")
    path = folder / "calls.jsonl"
    journal = Journal(LogSettings(str(path)), clock=lambda: 100.0, running=running)
    return journal, finish(running, journal, path, folder / "recordings")


def test_what_a_lost_process_had_is_finished_once(tmp_path: Path) -> None:
    left = Running(tmp_path / "running")
    journal = Journal(LogSettings(str(tmp_path / "calls.jsonl")), clock=lambda: 7.5, running=left)
    whole, cut = journal.bind("CA1", 0.0), journal.bind("CA2", 0.0)
    for call in (whole, cut):
        call.write(logged("call_started", recording=f"{call.call}.wav"))
        call.write(logged("turn_ended", turn=2))
        call.write(logged("turn", turn=2))
    cut.write(DeedLogged(name="book", key="k1", state="begun"))
    cut.write(DeedLogged(name="move", key="k2", state="begun"))
    cut.write(DeedLogged(name="move", key="k2", state="over", outcome="done"))
    whole.write(logged("call_ended"))
    journal.close()  # all is written; the file of the calls in progress stays, as after a kill
    recording = WavFile(tmp_path / "recordings" / "CA2.wav", 8000)
    recording.put(0, bytes(4000))
    with recording.path.open("ab") as torn:
        torn.write(bytes(403))
    second, count = start(tmp_path)
    second.close()
    third, again = start(tmp_path)
    third.close()
    assert (count, again) == (1, 0)
    told = [line.told for line in lines(tmp_path / "calls.jsonl") if line.call == "CA2"]
    ended = [each for each in told if isinstance(each, CallEndedLogged)]
    assert ended == [
        CallEndedLogged(
            reason="process lost", ended_by="failure", seconds=7.5, turns=2, open_deeds=["book"]
        )
    ]
    summaries = [line for line in lines(tmp_path / "calls.jsonl") if line.event == "call_summary"]
    assert [(line.call, line.fields["ended_by"]) for line in summaries] == [
        ("CA1", "agent"),
        ("CA2", "failure"),
    ]
    assert summaries[1].fields["deeds"] == 1
    assert summaries[1].fields["response_median"] == 0.58
    assert soundfile.info(recording.path).frames == 1000 + 100
    assert not list((tmp_path / "running").iterdir())


def test_the_calls_of_a_process_that_lives_are_its_own(tmp_path: Path) -> None:
    journal, _ = start(tmp_path)
    journal.bind("CA1", 0.0).write(SAMPLES[0])
    assert journal.settle(10.0)
    other, count = start(tmp_path)
    other.close()
    journal.close()
    assert count == 0


BUSY = """
import sys, threading, time
from pathlib import Path
from gateway.observe.journal import Journal
from gateway.observe.lost import finish
from gateway.observe.running import Running
from gateway.observe.settings import LogSettings
from media.recording import Recorder
from tests.support.log_lines import logged

folder = Path(sys.argv[1])
running = Running(folder / "running")
log = folder / "calls.jsonl"
journal = Journal(LogSettings(str(log), rotate_mb=0.02, keep=900), running=running)
print("finished", finish(running, journal, log, folder / "recordings"), flush=True)
recorder = Recorder(interval=0.002)
number = 0
while len(sys.argv) == 2:
    call = journal.bind(f"CA{time.time_ns()}", time.monotonic())
    sound = recorder.open(folder / "recordings" / f"{call.call}.wav", 8000)
    call.write(logged("call_started", recording=f"{call.call}.wav"))
    for turn in range(1, 30):
        sound.left((turn - 1) * 1600, b"\\1" * 3200)
        call.write(logged("caller_spoke", turn=turn, text="x" * (997 * turn % 9000)))
        call.write(logged("turn_ended", turn=turn))
        time.sleep(0.0005)
    call.write(logged("call_ended"))
    sound.close()
recorder.close()
journal.close()
"""


def kill_at_moments(folder: Path, moments: int, seed: int) -> None:
    """Kill a busy process again and again, and look at what each next one made of it."""
    chance = random.Random(seed)
    for _ in range(moments):
        busy = subprocess.Popen(
            [sys.executable, "-c", BUSY, str(folder)], stdout=subprocess.PIPE, cwd=ROOT
        )
        assert busy.stdout is not None
        with busy.stdout:
            assert busy.stdout.readline().startswith(b"finished")
            try:
                busy.wait(chance.uniform(0.0, 0.5))
            except subprocess.TimeoutExpired:
                busy.send_signal(signal.SIGKILL)
            busy.wait()
    subprocess.run([sys.executable, "-c", BUSY, str(folder), "end"], check=True, cwd=ROOT)
    begun: set[str] = set()
    ended: list[str] = []
    torn = 0
    for path in folder.glob("calls.jsonl*"):
        if path.suffix == ".lock":
            continue
        for raw in path.read_bytes().splitlines():
            try:
                line = parse(raw)
            except ValueError:
                torn += 1
                continue
            begun |= {line.call} if line.event == "call_started" else set()
            ended += [line.call] if line.event == "call_ended" else []
    assert torn == 0
    assert begun <= set(ended)
    assert len(ended) == len(set(ended))
    for path in (folder / "recordings").iterdir():
        assert soundfile.info(path).samplerate == 8000, path
    assert not list((folder / "running").glob("*.jsonl"))
    assert msgspec.json.encode(len(begun))


@pytest.mark.real_time
def test_a_process_killed_at_any_moment_leaves_whole_lines_and_is_finished(tmp_path: Path) -> None:
    kill_at_moments(tmp_path, MOMENTS, 7)


if __name__ == "__main__":
    count, place = int(sys.argv[1]), Path(sys.argv[2])
    print(f"{count} kills, seed {(seed := random.randrange(10**6))}")
    kill_at_moments(place, count, seed)
    print("whole lines, readable recordings, every call ended once")
