"""What a process stands on, judged: each part is found when it fails."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.lines.port import Standing
from gateway.log_events import CallEndedLogged, FaultLogged, RecoveredLogged
from gateway.observe.journal import Journal
from gateway.observe.settings import LogSettings
from gateway.process import judging
from gateway.process.judging import Judge, Judgement, Watched, room
from media.recording import Recorder


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    recorder = Recorder(interval=0.001)
    with Journal(LogSettings(str(tmp_path / "logs" / "calls.jsonl"))) as journal:
        ready = {"sip": Standing("ready", "registered"), "twilio": Standing("off", "no token")}
        yield Watched(journal, recorder, lambda: ready, {"log.path": tmp_path})
    recorder.close()


def written(watched: Watched) -> None:
    """Wait until the journal's thread has taken everything so far."""
    journal = watched.journal
    journal.close()


async def test_a_process_that_is_well(watched: Watched) -> None:
    judged = await Judge(watched).judge()
    assert set(judged) == {"log", "recordings", "models", "descriptors", "disk", "ports"}
    assert [part for part, one in judged.items() if not one.well] == []
    assert judged["ports"].said == "ready: sip"


async def test_models_that_fail_in_calls_that_go_on(watched: Watched) -> None:
    one, two = watched.journal.bind("CA1", 0.0), watched.journal.bind("CA2", 0.0)
    for call in (one, two):
        call.write(FaultLogged(part="voice_activity", reason="odd"))
    one.write(FaultLogged(part="model", reason="odd"))
    one.write(FaultLogged(part="tool", reason="no model"))
    two.write(RecoveredLogged(part="voice_activity"))
    written(watched)
    judged = await Judge(watched).judge()
    assert judged["models"] == Judgement(
        False, "model fails in 1 call, voice_activity fails in 1 call"
    )
    watched.journal.tally.take(
        "CA1", CallEndedLogged(reason="", ended_by="caller", seconds=1.0, turns=1)
    )
    assert (await Judge(watched).judge())["models"].well


async def test_a_recording_that_cannot_be_written(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert watched.recorder is not None
    recording = watched.recorder.open(tmp_path / "file" / "a.wav", 8000)
    recording.close()
    assert recording.finished.wait(20)
    judged = await Judge(watched).judge()
    watched.recorder.close()
    gone = await Judge(watched).judge()
    assert judged["recordings"].well  # given up, and told in its call
    assert gone["recordings"] == Judgement(False, "nothing is written: the recorder is not running")
    assert (await Judge(replace(watched, recorder=None)).judge())["recordings"].said == "off"


async def test_a_log_that_cannot_be_written(watched: Watched, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "calls.jsonl").unlink()
    folder.rmdir()
    folder.touch()
    watched.journal.process.write(FaultLogged(part="x", reason="y"))
    written(watched)
    assert (await Judge(watched).judge())["log"] == Judgement(
        False, "Not a directory: 1 lines are kept, 0 are lost"
    )


async def test_a_line_on_which_no_calls_come(watched: Watched) -> None:
    lost = {"sip": Standing("note", "not registered")}
    judged = await Judge(replace(watched, standings=lambda: lost)).judge()
    assert judged["ports"] == Judgement(False, "sip: not registered")


async def test_open_files_run_out(watched: Watched) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = int(judging.descriptors().said.split()[0])
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 1, hard))
    try:
        judged = judging.descriptors()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not judged.well
    assert judged.said.endswith(f"of {count + 1} are open")


def test_a_disk_that_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert room({"log.path": tmp_path / "not" / "yet"}).well
    monkeypatch.setattr(judging, "FREE_BYTES", 2**80)
    judged = room({"log.path": tmp_path})
    assert not judged.well
    assert judged.said.startswith("log.path: ")


async def test_whoever_asks_often_gets_the_same_again(watched: Watched) -> None:
    judge = Judge(watched)
    assert await judge.judge() is await judge.judge()
