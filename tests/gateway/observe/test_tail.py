"""The tail: every line once and in order, whatever is done to the file meanwhile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gateway.observe.files import LogFile, all_files
from gateway.observe.tail import Tail, beginning


def test_lines_come_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntw")
    with Tail(path) as tail:
        assert tail.read() == [b"one"]
        with path.open("ab") as more:
            more.write(b"o\nthree\n")
        assert tail.read() == [b"two", b"three"]
        assert tail.read() == []


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Tail(path) as tail:
        assert tail.read() == []
        path.write_bytes(b"one\n")
        assert tail.read() == [b"one"]


def test_a_truncated_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nhal")
    with Tail(path) as tail:
        tail.read()
        path.write_bytes(b"new\n")
        assert tail.read() == [b"new"]


def test_a_file_removed_for_good_keeps_quiet_until_there_is_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    with Tail(path) as tail:
        assert tail.read() == [b"one"]
        path.unlink()
        assert tail.read() == []
        path.write_bytes(b"two\n")
        assert tail.read() == [b"two"]


@given(st.lists(st.sampled_from(["write", "read"]), max_size=60), st.integers(8, 40))
def test_no_line_is_lost_or_doubled_across_renaming(steps: list[str], limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        log = LogFile(path, limit, keep=100)
        written: list[bytes] = []
        read: list[bytes] = []
        with Tail(path) as tail:
            for step in steps:
                if step == "write":
                    written.append(b"%d" % len(written))
                    log.write(written[-1] + b"\n")
                else:
                    read += tail.read()
            read += tail.read()
        log.close()
        assert read == written


def test_the_beginning_is_as_far_back_as_needed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = LogFile(path, limit=8, keep=9)
    for line in (b"one\n", b"two\n", b"three\n", b"four\n"):
        log.write(line)
    log.close()
    names = [each.name for each in all_files(path)]
    assert names == ["log.2", "log.1", "log"]
    assert [beginning(path, count).name for count in (1, 2, 3, 99, None)] == [
        "log",
        "log.1",
        "log.2",
        "log.2",
        "log.2",
    ]


WRITER = """
import sys
from gateway.observe.files import LogFile

log = LogFile(sys.argv[1], limit=300, keep=1000)
for number in range(int(sys.argv[3])):
    log.write(f"{sys.argv[2]} {number}\\n".encode())
log.close()
"""


def test_whoever_follows_what_several_processes_write_and_rename_misses_nothing(
    tmp_path: Path,
) -> None:
    path, count = tmp_path / "log", 1500
    path.touch()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(name), str(count)])
        for name in range(3)
    ]
    found: list[bytes] = []
    with Tail(path) as tail:
        while any(writer.poll() is None for writer in writers):
            found += tail.read()
        while lines := tail.read():
            found += lines
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    for name in range(3):
        mine = [line for line in found if line.startswith(b"%d " % name)]
        assert mine == [b"%d %d" % (name, number) for number in range(count)]
    assert len(found) == 3 * count
