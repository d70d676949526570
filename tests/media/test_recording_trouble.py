"""Recordings that cannot be written: what is kept, what is tried again, what is told."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from media import recording as module
from media.recording import StereoRecording, _Writer
from tests.media.test_recording import RATE, ramp, read, sound, written


@pytest.fixture
def recording(tmp_path: Path) -> StereoRecording:
    return StereoRecording(tmp_path / "calls" / "one.wav", RATE)


@pytest.fixture
def told(recording: StereoRecording) -> list[str]:
    """What is told of the recording."""
    said: list[str] = []
    recording.told = said.append
    return said


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let no file be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_came_while_no_file_could_be_opened_is_written_afterwards(
    recording: StereoRecording, told: list[str]
) -> None:
    writer = _Writer(recording)
    for second in range(6):
        recording.left(second * RATE, ramp(second * RATE, RATE))
        if second in (0, 2, 3):
            with no_more_files():
                assert writer.round()
        else:
            assert writer.round()
    assert told == [f"{recording.path}: Too many open files", ""] * 2
    recording.close()
    assert not writer.round()
    assert (recording.failure, recording.lost, len(told)) == ("", 0, 4)
    assert read(recording.path)[:, 0].tobytes() == ramp(0, 6 * RATE)


def test_what_cannot_be_kept_is_silent_in_the_file_and_counted(
    recording: StereoRecording, told: list[str]
) -> None:
    writer = _Writer(recording)
    length = module.KEPT_SECONDS + 5
    with no_more_files():
        for second in range(length):
            recording.left(second * RATE, ramp(second * RATE, RATE))
            assert writer.round()
            assert len(writer._window) <= module.KEPT_SECONDS * RATE
    recording.close()
    assert not writer.round()
    assert recording.lost == 5 * RATE
    assert told[1:] == ["", f"{recording.path}: 5.0 s are missing"]
    left = read(recording.path)[:, 0]
    assert not left[: 5 * RATE].any()
    assert left[5 * RATE :].tobytes() == ramp(5 * RATE, (length - 5) * RATE)


def test_a_long_gap_is_passed_while_nothing_can_be_written(recording: StereoRecording) -> None:
    writer = _Writer(recording)
    with no_more_files():
        recording.left(3000 * RATE, sound(7))
        assert writer.round()
    assert len(writer._window) <= module.KEPT_SECONDS * RATE
    recording.close()
    assert not writer.round()
    assert read(recording.path)[3000 * RATE, 0] == 7


def test_the_end_is_tried_for_a_while_and_then_given_up(
    recording: StereoRecording, told: list[str]
) -> None:
    writer = _Writer(recording)
    recording.left(0, sound(1))
    recording.close()
    with no_more_files():
        rounds = 1
        while writer.round():
            rounds += 1
    assert rounds == module.CLOSING_ROUNDS
    why = f"{recording.path}: Too many open files"
    assert told == [why, f"{why}; the rest is missing"]
    assert recording.finished.is_set()


FULL = """
import resource, sys
from pathlib import Path
from media.recording import StereoRecording, _Writer

path, told = Path(sys.argv[1]), []
recording = StereoRecording(path, 8000, told.append)
writer = _Writer(recording)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (44 + 4 * 8000 + 6, hard))
recording.left(0, b"\\1\\2" * 32000)
assert writer.round()
assert writer.round()
assert len(told) == 1, told
readable = path.read_bytes()
assert int.from_bytes(readable[40:44], "little") <= len(readable) - 44
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
recording.close()
assert not writer.round()
print(told)
"""


def test_a_disk_that_takes_a_part_and_is_full_spoils_nothing(tmp_path: Path) -> None:
    """A limit on the size of files does as a full disk does: a part is taken, the rest refused."""
    path = tmp_path / "full.wav"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == f"['{path}: File too large', '']\n"
    assert read(path)[:, 0].tobytes() == b"\1\2" * 32000


def test_a_folder_that_vanishes_is_made_again_and_what_is_missing_is_told(
    recording: StereoRecording, told: list[str]
) -> None:
    recording.left(0, ramp(0, 2 * RATE))
    writer = _Writer(recording)
    assert writer.round()
    recording.path.unlink()
    recording.path.parent.rmdir()
    recording.left(2 * RATE, ramp(2 * RATE, RATE))
    recording.close()
    assert not writer.round()
    assert told == [f"{recording.path}: 1.0 s are missing"]
    left = read(recording.path)[:, 0]
    assert not left[:RATE].any()
    assert left[RATE:].tobytes() == ramp(RATE, 2 * RATE)


def test_a_disk_that_was_too_slow_is_told_at_the_end(
    recording: StereoRecording, told: list[str]
) -> None:
    for number in range(module.INBOX_PIECES + 7):
        recording.left(number, sound(1))
    written(recording)
    recording.left(0, sound(1))
    assert told == [f"{recording.path}: the disk was too slow for 7 pieces of sound"]
