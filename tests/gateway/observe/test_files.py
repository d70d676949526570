"""The log file: it is renamed when it has grown, and several writers share it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.observe.files import LogFile, all_files


def text(path: Path) -> str:
    return path.read_text()


def test_it_is_renamed_past_its_limit_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "a" / "calls.jsonl"
    log = LogFile(path, limit=10, keep=2)
    for line in (b"one111\n", b"two222\n", b"three3\n", b"four44\n"):
        log.write(line)
    log.close()
    assert [each.name for each in all_files(path)] == [
        "calls.jsonl.2",
        "calls.jsonl.1",
        "calls.jsonl",
    ]
    assert [text(each) for each in all_files(path)] == ["two222\n", "three3\n", "four44\n"]


def test_keeping_none_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    log = LogFile(path, limit=5, keep=0)
    log.write(b"one1\n")
    log.write(b"two2\n")
    log.close()
    assert [(each.name, text(each)) for each in all_files(path)] == [("calls.jsonl", "two2\n")]


def test_a_line_longer_than_the_limit_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    log = LogFile(path, limit=5, keep=3)
    log.write(b"a line of some length\n")
    log.close()
    assert text(path) == "a line of some length\n"


def test_two_writers_lose_nothing_when_either_renames(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    one, two = LogFile(path, limit=20, keep=50), LogFile(path, limit=20, keep=50)
    written = [f"line {number:03d}\n" for number in range(60)]
    for number, line in enumerate(written):
        (one, two)[number % 3 % 2].write(line.encode())
    one.close()
    two.close()
    assert "".join(text(each) for each in all_files(path)) == "".join(written)
    assert all(each.stat().st_size <= 20 for each in all_files(path))


def test_a_file_that_others_removed_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    log = LogFile(path, limit=0, keep=1)
    log.write(b"one\n")
    path.unlink()
    log.write(b"two\n")
    log.close()
    assert text(path) == "two\n"


def test_a_folder_that_others_removed_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "a" / "calls.jsonl"
    log = LogFile(path, limit=0, keep=1)
    log.write(b"one\n")
    shutil.rmtree(path.parent)
    log.write(b"two\n")
    log.close()
    assert text(path) == "two\n"


def test_what_a_killed_process_cut_is_set_apart(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"one\nhalf a li")
    log, other = LogFile(path, limit=0, keep=1), LogFile(path, limit=0, keep=1)
    assert log.write(b"two\n") == 4
    with path.open("ab") as dying:
        dying.write(b"an")
    other.write(b"three\n")
    log.close()
    other.close()
    assert text(path) == "one\nhalf a li\ntwo\nan\nthree\n"


TIGHT = """
import os, resource, sys
from gateway.observe.files import LogFile

log = LogFile(sys.argv[1], limit=0, keep=1)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
lines = [f"line {number} {'x' * (number % 7)}\\n".encode() for number in range(40)]
left, size, refused = b"".join(lines), 0, 0
while left:
    size += int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        left = left[log.write(left):]
    except OSError:
        refused += 1
    if sys.argv[3] == "others" and size % 64 < int(sys.argv[2]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        with open(sys.argv[1], "ab") as other:
            other.write(b"another's\\n")
        size = os.stat(sys.argv[1]).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
log.write(b"last\\n")
print(refused)
found = open(sys.argv[1], "rb").read().splitlines(keepends=True)
assert [line for line in found if line in lines] == lines, found
assert found[-1] == b"last\\n"
if sys.argv[3] == "alone":
    assert found[:-1] == lines, found
"""


@pytest.mark.parametrize("step", [1, 3, 4, 9])
@pytest.mark.parametrize("company", ["alone", "others"])
def test_lines_are_whole_whatever_a_full_disk_took_of_them(
    tmp_path: Path, step: int, company: str
) -> None:
    """The disk has room for some more bytes each time; whoever else writes, no line is lost."""
    done = subprocess.run(
        [sys.executable, "-c", TIGHT, str(tmp_path / "calls.jsonl"), str(step), company],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert int(done.stdout) > 0


@pytest.mark.parametrize(
    ("group_reads", "modes"), [(False, (0o700, 0o600)), (True, (0o750, 0o640))]
)
def test_it_is_for_its_owner_alone_or_its_group(
    tmp_path: Path, group_reads: bool, modes: tuple[int, int]
) -> None:
    path = tmp_path / "logs" / "calls.jsonl"
    log = LogFile(path, limit=5, keep=1, group_reads=group_reads)
    log.write(b"one1\n")
    log.write(b"two2\n")
    log.close()
    assert len(all_files(path)) == 2
    assert path.parent.stat().st_mode & 0o777 == modes[0]
    assert {each.stat().st_mode & 0o777 for each in all_files(path)} == {modes[1]}


def test_a_mode_that_the_operator_chose_stays(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.touch()
    path.chmod(0o664)
    log = LogFile(path, limit=1000, keep=1)
    log.write(b"one1\n")
    log.close()
    assert path.stat().st_mode & 0o777 == 0o664


@pytest.mark.parametrize("name", ["calls.jsonl.lock", "calls.jsonl.1.gz", "calls.jsonl.old"])
def test_other_files_beside_it_are_not_the_log(tmp_path: Path, name: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.touch()
    (tmp_path / name).touch()
    assert all_files(path) == [path]
