"""Stereo recordings: alignment, bounds, failures, and a process killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from media import recording as module
from media.codec import wire_form
from media.recording import Recorder, StereoRecording, _Writer

RATE = 8000


def sound(*values: int) -> bytes:
    return np.array(values, dtype="<i2").tobytes()


def ramp(start: int, samples: int) -> bytes:
    return ((np.arange(start, start + samples) % 30000) + 1).astype("<i2").tobytes()


def read(path: Path) -> npt.NDArray[np.int16]:
    samples, rate = soundfile.read(path, dtype="int16", always_2d=True)
    assert rate == RATE
    return samples


def written(recording: StereoRecording) -> npt.NDArray[np.int16]:
    """Complete a recording on this thread and read it."""
    recording.close()
    assert not _Writer(recording).round()
    assert recording.failure == ""
    assert recording.finished.is_set()
    return read(recording.path)


@pytest.fixture
def recording(tmp_path: Path) -> StereoRecording:
    return StereoRecording(tmp_path / "calls" / "one.wav", RATE)


def test_each_side_lies_where_it_sounded_and_gaps_are_silent(recording: StereoRecording) -> None:
    recording.left(2, sound(1, 2))
    recording.right(3, sound(7))
    recording.left(6, sound(3))
    assert written(recording).tolist() == [
        [0, 0],
        [0, 0],
        [1, 0],
        [2, 7],
        [0, 0],
        [0, 0],
        [3, 0],
    ]


def test_wire_forms_are_decoded(recording: StereoRecording) -> None:
    form = wire_form("pcmu", RATE)
    recording.left(0, b"\x80\x00", form)
    recording.left(2, b"\xff", form)
    recording.right(0, sound(5, 6, 7))
    assert written(recording).tolist() == [[32124, 5], [-32124, 6], [0, 7]]


def test_what_was_cleared_is_taken_back_and_may_be_put_anew(recording: StereoRecording) -> None:
    recording.left(0, sound(1, 1, 1, 1, 1))
    recording.right(0, sound(2, 2, 2, 2, 2))
    recording.cut_right(2)
    recording.right(3, sound(9))
    assert written(recording)[:, 1].tolist() == [2, 2, 0, 9, 0]


def test_nothing_said_gives_an_empty_file_that_can_be_read(recording: StereoRecording) -> None:
    assert written(recording).shape == (0, 2)


def test_only_what_is_settled_is_written_and_what_comes_after_is_counted(
    recording: StereoRecording,
) -> None:
    writer = _Writer(recording)
    recording.left(0, ramp(0, 3 * RATE))
    assert writer.round()
    assert recording.seconds == 2.0
    assert len(read(recording.path)) == 2 * RATE
    recording.right(2 * RATE - 5, ramp(0, 10))
    recording.close()
    assert not writer.round()
    assert recording.late == 5
    stereo = read(recording.path)
    assert stereo[:, 0].tobytes() == ramp(0, 3 * RATE)
    assert stereo[2 * RATE : 2 * RATE + 5, 1].tobytes() == ramp(5, 5)


def test_a_long_silence_costs_no_memory_and_keeps_the_alignment(
    recording: StereoRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = 0
    write = _Writer._write

    def watched(writer: _Writer, frames: int) -> None:
        nonlocal longest
        longest = max(longest, len(writer._window))
        write(writer, frames)

    monkeypatch.setattr(_Writer, "_write", watched)
    recording.left(0, sound(1))
    recording.right(600 * RATE, sound(2))
    stereo = written(recording)
    assert len(stereo) == 600 * RATE + 1
    assert stereo[-1].tolist() == [0, 2]
    assert longest <= 21 * RATE


def test_a_backlog_longer_than_a_block_is_written_whole(recording: StereoRecording) -> None:
    for start in range(0, 28 * RATE, 160):
        recording.left(start, ramp(start, 160))
    assert written(recording)[:, 0].tobytes() == ramp(0, 28 * RATE)
    assert recording.dropped == 0


def test_a_broken_position_is_dropped(recording: StereoRecording) -> None:
    recording.left(0, sound(1))
    recording.right(10**9, sound(2))
    assert written(recording).tolist() == [[1, 0]]
    assert recording.dropped == 1


def test_when_too_much_waits_pieces_are_dropped_and_counted(recording: StereoRecording) -> None:
    for number in range(module.INBOX_PIECES + 7):
        recording.left(number, sound(1))
    assert recording.dropped == 7
    assert len(written(recording)) == module.INBOX_PIECES
    recording.left(0, sound(1))
    assert recording.dropped == 8


def test_a_disk_that_fails_is_tried_again_and_touches_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    recorder = Recorder(interval=0.001)
    bad = recorder.open(tmp_path / "file" / "one.wav", RATE)
    good = recorder.open(tmp_path / "two.wav", RATE)
    bad.left(0, sound(1))
    good.left(0, sound(1))
    bad.close()
    assert bad.finished.wait(20)
    good.left(1, sound(2))
    recorder.close()
    assert good.finished.is_set()
    assert bad.failure == f"{bad.path}: File exists"
    assert good.failure == ""
    assert read(good.path)[:, 0].tolist() == [1, 2]


def test_closing_the_recorder_completes_every_file(tmp_path: Path) -> None:
    recorder = Recorder(interval=30.0)
    recordings = [recorder.open(tmp_path / f"{number}.wav", RATE) for number in range(5)]
    for one in recordings:
        one.right(0, ramp(0, 400))
    recorder.close()
    assert [len(read(one.path)) for one in recordings] == [400] * 5


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    pieces=st.lists(
        st.tuples(st.sampled_from(["left", "right", "cut", "round"]), st.integers(0, 3000)),
        max_size=30,
    )
)
def test_the_file_is_what_a_plain_array_would_be(
    tmp_path: Path, pieces: list[tuple[str, int]]
) -> None:
    path = tmp_path / "one.wav"
    path.unlink(missing_ok=True)
    recording = StereoRecording(path, RATE)
    writer = _Writer(recording)
    wanted = np.zeros((0, 2), dtype=np.int16)
    for number, (what, start) in enumerate(pieces):
        values = np.full(100, number + 1, dtype="<i2")
        match what:
            case "left" | "right":
                side = ("left", "right").index(what)
                missing = max(0, start + 100 - len(wanted))
                wanted = np.concatenate((wanted, np.zeros((missing, 2), dtype=np.int16)))
                wanted[start : start + 100, side] = values
                getattr(recording, what)(start, values.tobytes())
            case "cut":
                wanted[start:, 1] = 0
                recording.cut_right(start)
            case _:
                assert writer.round()
    recording.close()
    writer.round()
    assert read(path).tolist() == wanted.tolist()


KILLED = """
import sys
from pathlib import Path
import numpy as np
from media.recording import Recorder

recorder = Recorder(interval=0.001)
recording = recorder.open(Path(sys.argv[1]), 8000)
place, told = 0, False
while True:
    pcm = ((np.arange(place, place + 160) % 30000) + 1).astype("<i2").tobytes()
    # no faster than it is written, as in a call
    if place < 8000 * (recording.seconds + 3):
        recording.left(place, pcm)
        recording.right(place, pcm)
        place += 160
    if recording.seconds > float(sys.argv[2]) and not told:
        print("go", flush=True)
        told = True
"""


@pytest.mark.parametrize("seconds", [0.5, 3.0, 7.5])
def test_a_killed_process_leaves_a_file_that_can_be_read(tmp_path: Path, seconds: float) -> None:
    path = tmp_path / "killed.wav"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), str(seconds)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"go\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    stereo = read(path)
    assert len(stereo) >= seconds * RATE
    wanted = np.frombuffer(ramp(0, len(stereo)), dtype="<i2")
    assert np.array_equal(stereo[:, 0], wanted)
    assert np.array_equal(stereo[:, 1], wanted)


def test_a_recording_is_for_its_owner_alone(tmp_path: Path) -> None:
    for name, group_reads, modes in (
        ("mine", False, (0o700, 0o600)),
        ("ours", True, (0o750, 0o640)),
    ):
        recording = StereoRecording(tmp_path / name / "one.wav", RATE, group_reads=group_reads)
        written(recording)
        found = (recording.path.parent.stat().st_mode, recording.path.stat().st_mode)
        assert tuple(mode & 0o777 for mode in found) == modes


def test_nothing_that_was_recorded_is_written_over(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        again = StereoRecording(tmp_path / "one.wav", RATE)
        again.left(0, sound(number))
        assert written(again).tolist() == [[number, 0]]
    names = {path.name: read(path)[0, 0] for path in tmp_path.iterdir()}
    assert names == {"one.wav": 1, "one.2.wav": 2, "one.3.wav": 3}


def test_a_fault_of_ours_in_one_recording_does_not_end_the_others(tmp_path: Path) -> None:
    told: list[str] = []
    recorder = Recorder(interval=0.001)
    bad = recorder.open(tmp_path / "bad.wav", RATE, told.append)
    good = recorder.open(tmp_path / "good.wav", RATE)
    bad.left(0, b"odd")  # half a sample
    good.left(0, sound(1))
    assert bad.finished.wait(20)
    good.left(1, sound(2))
    recorder.close()
    assert len(told) == 1
    assert read(good.path)[:, 0].tolist() == [1, 2]
